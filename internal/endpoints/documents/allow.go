package documents

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

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
	for i, namespace := range entry.Namespaces {
		if at := fmt.Sprintf("%s.namespaces[%d]", path, i); w.sound(at) {
			w.form(at, namespace, settings.FormLabel)
		}
	}
	if at := path + ".namespaceSelector"; selected && w.sound(at) {
		w.checkSelector(at, entry.NamespaceSelector)
	}
	if at := path + ".ports"; w.required(at) {
		w.count(at, len(entry.Ports), 1, 64)
	}
	for i, text := range entry.Ports {
		if at := fmt.Sprintf("%s.ports[%d]", path, i); w.sound(at) {
			w.form(at, text, settings.FormPorts)
		}
	}
	w.count(path+".remoteNamespaces", len(entry.RemoteNamespaces), 0, 64)
	for i, namespace := range entry.RemoteNamespaces {
		if at := fmt.Sprintf("%s.remoteNamespaces[%d]", path, i); w.sound(at) {
			w.form(at, namespace, settings.FormLabel)
		}
	}
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
