package documents

import (
	"fmt"
	"net/netip"
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
		w.selector(path+".kubernetes.nodeSelector", k.NodeSelector)
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
	w.selector(path+".nodeSelector", s.NodeSelector)
}

func (w *walk) checkCommand(path string, s *v1alpha1.CommandSource) {
	w.text(path+".path", s.Path, 1, 4096)
	if strings.ContainsAny(s.Path, "\x00\r\n") {
		w.note(path+".path", problem{"holds a control character", "remove it"})
	}
	w.count(path+".args", len(s.Args), 0, 100)
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

func (w *walk) selector(path, value string) {
	if value != "" && w.text(path, value, 0, 1024) {
		w.form(path, value, settings.FormSelector)
	}
}

// duration holds a duration of the document against its limits.
func (w *walk) duration(path string, d *metav1.Duration, least, most time.Duration) {
	if w.has(path) && w.sound(path) && (d.Duration < least || d.Duration > most) {
		w.noteValue(path, d.Duration.String(), problem{"is outside " + settings.FormatDuration(least) + " to " + settings.FormatDuration(most), "write a duration within"})
	}
}
