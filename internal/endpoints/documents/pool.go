package documents

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// checkPool holds a pool against the rules.
func (w *walk) checkPool(s *v1alpha1.EndpointPoolSpec) {
	if !w.has("spec") {
		w.missing("spec", "write spec.source and spec.subnets")
		return
	}
	w.checkSource(s)
	w.checkSubnets(s.Subnets)
	w.duration("spec.pollInterval", s.PollInterval, 100*time.Millisecond, 24*time.Hour)
	w.duration("spec.releaseAfter", s.ReleaseAfter, 0, 24*time.Hour)
	w.count("spec.allow", len(s.Allow), 0, 64)
	for i, allowance := range s.Allow {
		at := fmt.Sprintf("spec.allow[%d]", i)
		w.checkAllowance(at, allowance)
		if len(allowance.RemoteNamespaces) > 0 && s.Source.Kubernetes == nil && s.Source.IONOS == nil && w.sound("spec.source") {
			w.note(at+".remoteNamespaces", problem{"is set, and the source has no kubeconfig by which a remote Service could be followed", "remove it, or use the source kubernetes or ionos"})
		}
	}
	w.checkPoolHealth(&s.HealthCheck)
	w.checkGuard(&s.Guard)
}

// checkSource demands exactly one source, and what it cannot do without.
func (w *walk) checkSource(s *v1alpha1.EndpointPoolSpec) {
	const path = "spec.source"
	var set []string
	for _, name := range []string{"kubernetes", "ionos", "static", "file", "command"} {
		if w.has(path + "." + name) {
			set = append(set, name)
		}
	}
	switch {
	case !w.sound(path) && len(set) < 2:
	case len(set) == 0:
		w.missing(path, "write one of kubernetes, ionos, static, file and command below it, for example kubernetes: {}")
	case len(set) > 1:
		w.note(path, problem{"has " + settings.Listed(set, "and"), "keep one of them, and make a pool of its own of each other one"})
	}
	if s.Credentials != "" {
		w.form("spec.credentials", s.Credentials, settings.FormLabel)
	} else if w.sound("spec.credentials") && (s.Source.Kubernetes != nil || s.Source.IONOS != nil) {
		w.missing("spec.credentials", "write the name of the folder below CREDENTIALS_DIR that holds the kubeconfig or the token")
	}
	if k := s.Source.Kubernetes; k != nil {
		w.optional(path+".kubernetes.nodeSelector", k.NodeSelector, 1024, settings.FormSelector)
	}
	if i := s.Source.IONOS; i != nil {
		w.checkIONOS(path+".ionos", i)
	}
	if l := s.Source.Static; l != nil {
		w.checkNodes(path+".static.nodes", l.Nodes)
	}
	if f := s.Source.File; f != nil {
		w.text(path+".file.path", f.Path, 1, 4096)
	}
	if c := s.Source.Command; c != nil {
		w.checkCommand(path+".command", c)
	}
}

func (w *walk) checkIONOS(path string, s *v1alpha1.IONOSSource) {
	if w.required(path + ".datacenterID") {
		w.form(path+".datacenterID", s.DatacenterID, settings.FormUUID)
	}
	if w.required(path+".lanID") && w.sound(path+".lanID") {
		w.number(path+".lanID", &s.LANID, 1, 2147483647)
	}
	if s.ClusterID != "" {
		w.form(path+".clusterID", s.ClusterID, settings.FormUUID)
	}
	w.optional(path+".nodeSelector", s.NodeSelector, 1024, settings.FormSelector)
}

func (w *walk) checkCommand(path string, s *v1alpha1.CommandSource) {
	w.text(path+".path", s.Path, 1, 4096)
	if strings.ContainsAny(s.Path, "\x00\r\n") {
		w.note(path+".path", problem{"holds a control character", "remove it"})
	}
	w.count(path+".args", len(s.Args), 0, 100)
	for i, arg := range s.Args {
		if strings.Contains(arg, "\x00") {
			w.note(fmt.Sprintf("%s.args[%d]", path, i), problem{"holds a NUL", "remove it"})
		}
	}
}

// checkNodes holds a fixed list against the rules of STATIC_NODES.
func (w *walk) checkNodes(path string, nodes []v1alpha1.StaticNode) {
	if !w.required(path) {
		return
	}
	w.count(path, len(nodes), 1, 1000)
	names := map[string]bool{}
	for i, node := range nodes {
		at := fmt.Sprintf("%s[%d]", path, i)
		w.text(at+".name", node.Name, 1, 253)
		switch {
		case strings.ContainsFunc(node.Name, func(r rune) bool { return !strconv.IsGraphic(r) || r == ' ' }):
			w.noteValue(at+".name", node.Name, problem{"holds a space or a control character", "write the name without it"})
		case node.Name != "" && names[node.Name]:
			w.noteValue(at+".name", node.Name, problem{"is the name of another node of the list", "give each node a name of its own"})
		}
		names[node.Name] = true
		w.text(at+".zone", node.Zone, 0, 63)
		if w.required(at + ".addresses") {
			w.count(at+".addresses", len(node.Addresses), 1, 16)
		}
		for j, address := range node.Addresses {
			w.checkAddress(fmt.Sprintf("%s.addresses[%d]", at, j), address)
		}
	}
}

func (w *walk) checkAddress(path, text string) {
	addr, err := netip.ParseAddr(text)
	switch {
	case !w.sound(path):
	case err != nil:
		w.noteValue(path, text, problem{"is not an IP address", "write for example 10.0.0.11"})
	case addr.Is4In6() || addr.Zone() != "":
		w.noteValue(path, text, problem{"has a zone, or is IPv4 written as IPv6", "write " + addr.Unmap().WithZone("").String()})
	}
}

// The shortest prefixes: a pool of all addresses is a slip.
const (
	shortest4 = 8
	shortest6 = 32
)

func (w *walk) checkSubnets(subnets []string) {
	const path = "spec.subnets"
	if !w.required(path) {
		return
	}
	w.count(path, len(subnets), 1, 16)
	seen := map[string]bool{}
	for i, text := range subnets {
		at := fmt.Sprintf("%s[%d]", path, i)
		if !w.sound(at) {
			continue
		}
		w.form(at, text, settings.FormSubnet)
		subnet, err := netip.ParsePrefix(text)
		if err != nil || !w.sound(at) {
			continue
		}
		least := shortest4
		if subnet.Addr().Is6() {
			least = shortest6
		}
		if seen[text] {
			w.noteValue(at, text, problem{"is in the list twice", "remove one of them"})
		}
		seen[text] = true
		if subnet.Bits() < least {
			w.noteValue(at, text, problem{fmt.Sprintf("is larger than /%d", least), "name the ranges of the nodes"})
		} else if what := filter.ForbiddenIn(subnet); what != "" && !(w.loopback && subnet.Addr().IsLoopback()) {
			w.noteValue(at, text, problem{"contains " + what + ", which is never published", "name smaller ranges, without it"})
		}
	}
}

func (w *walk) checkGuard(g *v1alpha1.PoolGuard) {
	const path = "spec.guard."
	w.number(path+"maxRemovalPercent", g.MaxRemovalPercent, 0, 100)
	w.number(path+"maxSilentPercent", g.MaxSilentPercent, 0, 100)
	w.number(path+"emptyResultThreshold", g.EmptyResultThreshold, 0, 1_000_000)
	w.duration(path+"drainPeriod", g.DrainPeriod, 0, 24*time.Hour)
}

// optional holds a text that may be left out against a form.
func (w *walk) optional(path, value string, most int, form settings.Form) {
	if value != "" && w.text(path, value, 1, most) {
		w.form(path, value, form)
	}
}

// duration holds a duration of the document against its limits.
func (w *walk) duration(path string, d *metav1.Duration, least, most time.Duration) {
	if w.has(path) && w.sound(path) && (d.Duration < least || d.Duration > most) {
		w.noteValue(path, d.Duration.String(), problem{"is outside " + settings.FormatDuration(least) + " to " + settings.FormatDuration(most), "write a duration within"})
	}
}

// request is what pools and bindings say alike about a check.
type request struct {
	mode                       v1alpha1.HealthCheckMode
	port                       *int32
	path, host, expectedStatus string
	longestPath                int
}

// checkRequest holds it against the rules. With mode None all fields are tolerated, so
// that switching the check off for an hour is one change.
func (w *walk) checkRequest(path string, r request) {
	w.oneOf(path+".mode", string(r.mode), []string{"None", "TCP", "HTTP", "HTTPS"})
	w.number(path+".port", r.port, 1, 65535)
	w.optional(path+".path", r.path, r.longestPath, settings.FormPath)
	w.host(path+".host", r.host)
	w.optional(path+".expectedStatus", r.expectedStatus, 256, settings.FormStatus)
	if r.mode == v1alpha1.HealthCheckTCP && w.sound(path+".mode") {
		for _, name := range []string{"path", "host", "expectedStatus"} {
			w.useless(path+"."+name, "TCP", "HTTP or HTTPS")
		}
	}
}

// host holds the name of a host against the rules of the API server, which knows no zones
// and no IPv4 written as IPv6.
func (w *walk) host(path, value string) {
	if value == "" || !w.text(path, value, 1, 253) {
		return
	}
	w.form(path, value, settings.FormHost)
	if _, err := netip.ParseAddr(value); err == nil {
		w.checkAddress(path, value)
	}
}

// useless notes a field that a mode does not use: it looks as if something were checked
// that is not.
func (w *walk) useless(path, mode, better string) {
	if w.has(path) && w.sound(path) {
		w.note(path, problem{"has no effect with mode " + mode, "set mode to " + better + ", or remove it"})
	}
}

// oneOf demands one of a closed set of words.
func (w *walk) oneOf(path, value string, words []string) {
	if slices.Contains(words, value) || !w.sound(path) {
		return
	}
	remedy := remedyFor(value, words, "write "+settings.Listed(words, "or"))
	if strings.EqualFold(value, "off") && words[0] == "None" {
		remedy = "write None"
	}
	w.noteValue(path, value, problem{"is not one of " + settings.Listed(words, "or"), remedy})
}

func (w *walk) checkPoolHealth(c *v1alpha1.PoolHealthCheck) {
	const path = "spec.healthCheck"
	w.checkRequest(path, request{c.Mode, c.Port, c.Path, c.Host, c.ExpectedStatus, 1024})
	w.duration(path+".interval", c.Interval, 100*time.Millisecond, time.Hour)
	w.duration(path+".timeout", c.Timeout, 10*time.Millisecond, time.Hour)
	if w.sound(path+".interval") && w.sound(path+".timeout") && c.Timeout.Duration > c.Interval.Duration {
		w.noteValue(path+".timeout", settings.FormatDuration(c.Timeout.Duration), problem{"is longer than the interval (" + settings.FormatDuration(c.Interval.Duration) + ")", "write at most " + settings.FormatDuration(c.Interval.Duration)})
	}
	w.number(path+".rise", c.Rise, 1, 1000)
	w.number(path+".fall", c.Fall, 1, 1000)
	w.host(path+".tlsServerName", c.TLSServerName)
	if c.Mode == v1alpha1.HealthCheckHTTPS || c.Mode == v1alpha1.HealthCheckNone || !w.sound(path+".mode") {
		return
	}
	w.useless(path+".tlsServerName", string(c.Mode), "HTTPS")
	if c.TLSInsecure != nil && *c.TLSInsecure {
		w.useless(path+".tlsInsecure", string(c.Mode), "HTTPS")
	}
}

// forbid notes what the pools of the set forbid its bindings. A new version of a binding
// that is forbidden does not replace an old one. A binding that did not change stays as
// it is: there the pool changed, and Allowed decides what follows.
func forbid(before Set, after *Set) {
	pools := map[string]*v1alpha1.EndpointPool{}
	for _, pool := range after.Pools() {
		pools[pool.Name] = pool
	}
	for i := range after.Entries {
		e := &after.Entries[i]
		if e.Binding == nil || e.Kept {
			continue
		}
		e.Forbidden = forbidden(*e, pools)
		old, existed := before.Entry(e.Key)
		if len(e.Forbidden) > 0 && existed && old.Usable() && !sameVersion(old, *e) && len(forbidden(old, pools)) == 0 {
			e.Binding, e.Kept = old.Binding, true
		}
	}
}

// forbidden says what pools forbid a binding. A pool that is not in the set, and one that
// selects namespaces by labels, cannot be judged without the cluster.
func forbidden(e Entry, pools map[string]*v1alpha1.EndpointPool) []Mistake {
	var found []Mistake
	note := func(field, rule, remedy string) {
		found = append(found, Mistake{File: e.File, Line: e.Line, Document: e.Key.String(), Field: field, Rule: rule, Remedy: remedy})
	}
	for i, of := range e.Binding.Spec.Pools {
		name := of.Name
		pool := pools[name]
		if pool == nil || slices.ContainsFunc(pool.Spec.Allow, func(a v1alpha1.PoolAllowance) bool { return a.NamespaceSelector != nil }) {
			continue
		}
		allowed := Allowed(&pool.Spec, e.Key.Namespace, nil)
		if len(allowed.Ports) == 0 {
			note(fmt.Sprintf("spec.pools[%d]", i), fmt.Sprintf("the pool %s does not allow the namespace %s", name, e.Key.Namespace), "name another pool, or ask the platform for an entry in spec.allow of the pool")
			continue
		}
		if r := of.RemoteService; r != nil && !slices.Contains(allowed.RemoteNamespaces, r.Namespace) {
			note(fmt.Sprintf("spec.pools[%d].remoteService", i), fmt.Sprintf("the pool %s does not allow the namespace %s to follow Services of the remote namespace %s", name, e.Key.Namespace, r.Namespace), "remove it, or ask the platform to name the remote namespace in spec.allow[].remoteNamespaces of the pool")
		}
		for field, port := range portsOf(&e.Binding.Spec) {
			if !allowed.Ports.Contains(int(port)) {
				note(field, fmt.Sprintf("the pool %s does not allow the namespace %s to use port %d", name, e.Key.Namespace, port), "use one of the ports "+allowed.Ports.String()+", or ask the platform for an entry in spec.allow of the pool")
			}
		}
	}
	slices.SortFunc(found, Mistake.compare)
	return found
}

// portsOf returns every port that a binding names, by field.
func portsOf(s *v1alpha1.EndpointBindingSpec) map[string]int32 {
	ports := map[string]int32{}
	for i, port := range s.Ports {
		ports[fmt.Sprintf("spec.ports[%d].port", i)] = port.Port
	}
	if c := s.HealthCheck; c != nil && c.Port != nil {
		ports["spec.healthCheck.port"] = *c.Port
	}
	return ports
}
