package documents

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// maxPools is how many pools fill one Service.
const maxPools = 4

// checkBinding holds a binding against the rules.
func (w *walk) checkBinding(s *v1alpha1.EndpointBindingSpec) {
	const pools = "spec.pools"
	if !w.has("spec") {
		w.missing("spec", "write spec.pools")
		return
	}
	if w.required(pools) {
		w.count(pools, len(s.Pools), 1, maxPools)
	}
	seen := map[string]bool{}
	for i, name := range s.PoolNames() {
		if r, of := s.Pools[i].RemoteService, fmt.Sprintf("%s[%d].remoteService", pools, i); r != nil {
			w.label(of+".namespace", r.Namespace)
			w.label(of+".name", r.Name)
		}
		at := fmt.Sprintf("%s[%d].name", pools, i)
		if !w.required(at) {
			continue
		}
		w.poolName(at, name, "write the name of a pool: it has at most 40 characters")
		if seen[name] {
			w.noteValue(at, name, problem{"is in the list twice", "remove one of them"})
		}
		seen[name] = true
	}
	w.checkBindingPorts(s.Ports)
	w.oneOf("spec.mode", string(s.Mode), []string{"Publish", "DryRun"})
	if c := s.HealthCheck; c != nil {
		w.checkBindingHealth(s, c)
	}
	w.optional("spec.adopt", s.Adopt, 243, settings.FormName)
	if s.Adopt != "" && len(s.Pools) > 1 {
		w.noteValue("spec.adopt", s.Adopt, problem{"is set with several pools, and a slice belongs to one", "remove it, or bind one pool first and add the others later"})
	}
}

func (w *walk) checkBindingHealth(s *v1alpha1.EndpointBindingSpec, c *v1alpha1.BindingHealthCheck) {
	const path = "spec.healthCheck"
	w.checkRequest(path, request{c.Mode, c.Port, c.Path, c.Host, c.ExpectedStatus, 256})
	if strings.Contains(c.Path, "?") && w.sound(path+".path") {
		w.noteValue(path+".path", c.Path, problem{"holds a query", "write the path alone"})
	}
	if c.Port != nil || c.Mode == v1alpha1.HealthCheckNone || len(s.Ports) == 0 || !w.sound(path) || !w.sound("spec.ports") {
		return
	}
	if tcp := TCPPorts(s.Ports); tcp != 1 {
		w.missing(path+".port", fmt.Sprintf("write the TCP port to check: spec.ports has %d of them", tcp))
	}
}

// TCPPorts counts the ports that a check can use.
func TCPPorts(ports []v1alpha1.BindingPort) (count int) {
	for _, port := range ports {
		if port.Protocol == v1alpha1.ProtocolTCP {
			count++
		}
	}
	return count
}

// checkBindingPorts refuses what the API server would refuse, or what would make two
// ports of a Service one.
func (w *walk) checkBindingPorts(ports []v1alpha1.BindingPort) {
	w.count("spec.ports", len(ports), 0, 100)
	names, sockets := map[string]bool{}, map[v1alpha1.BindingPort]bool{}
	for i, port := range ports {
		at := fmt.Sprintf("spec.ports[%d]", i)
		if !w.required(at + ".port") {
			continue
		}
		w.number(at+".port", &port.Port, 1, 65535)
		w.oneOf(at+".protocol", string(port.Protocol), []string{"TCP", "UDP", "SCTP"})
		switch {
		case port.Name == "" && len(ports) > 1:
			w.required(at + ".name")
		case port.Name == "":
		case names[port.Name]:
			w.noteValue(at+".name", port.Name, problem{"is the name of another port of the list", "give each the name of its Service port"})
		default:
			w.form(at+".name", port.Name, settings.FormLabel)
		}
		names[port.Name] = true
		if key := (v1alpha1.BindingPort{Port: port.Port, Protocol: port.Protocol}); sockets[key] && w.sound(at) {
			w.note(at, problem{fmt.Sprintf("is %d/%s again", port.Port, port.Protocol), "remove one of them"})
		} else {
			sockets[key] = true
		}
	}
}

// Allowance is what a pool allows one namespace.
type Allowance struct {
	Ports                  settings.Ranges
	MaxServices, MaxChecks int
	// RemoteNamespaces are those of the remote cluster whose Services may be followed.
	RemoteNamespaces []string
}

// Allowed returns what a valid pool allows a namespace with these labels: no ports where
// it allows nothing. It is the one place that decides this, for every carrier. Labels
// that are not known are nil: then no selector selects the namespace.
func Allowed(pool *v1alpha1.EndpointPoolSpec, namespace string, names map[string]string) Allowance {
	var all Allowance
	for _, entry := range pool.Allow {
		if !selects(entry, namespace, names) {
			continue
		}
		all.Ports = append(all.Ports, settings.ParsePorts(entry.Ports...)...)
		all.RemoteNamespaces = append(all.RemoteNamespaces, entry.RemoteNamespaces...)
		all.MaxServices = max(all.MaxServices, int(ptr.Deref(entry.MaxServices, v1alpha1.DefaultMaxServices)))
		all.MaxChecks = max(all.MaxChecks, int(ptr.Deref(entry.MaxChecks, v1alpha1.DefaultMaxChecks)))
	}
	return all
}

// selects reports whether an entry is for a namespace. What is no selector selects
// nothing.
func selects(entry v1alpha1.PoolAllowance, namespace string, names map[string]string) bool {
	if slices.Contains(entry.Namespaces, namespace) {
		return true
	}
	if names == nil || isEmpty(entry.NamespaceSelector) {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(entry.NamespaceSelector)
	return err == nil && selector.Matches(labels.Set(names))
}

func isEmpty(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// checkAllowance holds one entry against the rules.
func (w *walk) checkAllowance(path string, entry v1alpha1.PoolAllowance) {
	named, selected := w.has(path+".namespaces"), w.has(path+".namespaceSelector")
	switch {
	case named && selected:
		w.note(path, problem{"has both namespaces and namespaceSelector", "make two entries of it"})
	case !named && !selected && w.sound(path):
		w.missing(path+".namespaces", "write namespaces or namespaceSelector; an entry for every namespace is not assumed")
	case named:
		w.count(path+".namespaces", len(entry.Namespaces), 1, 256)
	}
	w.forms(path+".namespaces", entry.Namespaces, settings.FormLabel)
	if at := path + ".namespaceSelector"; selected && w.sound(at) {
		w.checkSelector(at, entry.NamespaceSelector)
	}
	if at := path + ".ports"; w.required(at) {
		w.count(at, len(entry.Ports), 1, 64)
	}
	w.forms(path+".ports", entry.Ports, settings.FormPorts)
	w.count(path+".remoteNamespaces", len(entry.RemoteNamespaces), 0, 64)
	w.forms(path+".remoteNamespaces", entry.RemoteNamespaces, settings.FormLabel)
	w.number(path+".maxServices", entry.MaxServices, 1, 10_000)
	w.number(path+".maxChecks", entry.MaxChecks, 1, 20_000)
}

func (w *walk) checkSelector(path string, selector *metav1.LabelSelector) {
	if isEmpty(selector) {
		w.note(path, problem{"is empty, which would allow every namespace", "write matchLabels; to allow all: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: Exists}]}"})
		return
	}
	w.count(path+".matchLabels", len(selector.MatchLabels), 0, 16)
	w.count(path+".matchExpressions", len(selector.MatchExpressions), 0, 8)
	for i, expression := range selector.MatchExpressions {
		w.count(fmt.Sprintf("%s.matchExpressions[%d].values", path, i), len(expression.Values), 0, 32)
	}
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil && w.sound(path) {
		w.note(path, problem{"is not a label selector", "write for example {matchLabels: {tier: gold}}"})
	}
}
