package resolve

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// allowance is what a pool allows one namespace, over all entries that are for it.
type allowance struct {
	ports                 []portRange
	maxTargets, maxChecks int
}

// portRange has both ends included.
type portRange struct{ first, last uint16 }

// allowanceOf returns what a pool allows a namespace; nothing where no entry is for it.
func allowanceOf(pool *v1alpha1.EndpointPool, namespace string, labelsOf map[string]map[string]string) allowance {
	var a allowance
	for _, entry := range pool.Spec.Allow {
		if !concerns(entry, namespace, labelsOf) {
			continue
		}
		for _, text := range entry.Ports {
			if r, ok := parseRange(text); ok {
				a.ports = append(a.ports, r)
			}
		}
		a.maxTargets = max(a.maxTargets, int(*entry.MaxTargets))
		a.maxChecks = max(a.maxChecks, int(*entry.MaxChecks))
	}
	return a
}

// concerns reports whether an entry is for a namespace. A selector is for none whose
// labels are not known, and an empty one is for none at all.
func concerns(entry v1alpha1.PoolAllowance, namespace string, labelsOf map[string]map[string]string) bool {
	if slices.Contains(entry.Namespaces, namespace) {
		return true
	}
	if entry.NamespaceSelector == nil {
		return false
	}
	known, ok := labelsOf[namespace]
	selector, err := metav1.LabelSelectorAsSelector(entry.NamespaceSelector)
	return ok && err == nil && !selector.Empty() && selector.Matches(labels.Set(known))
}

// parseRange reads "30080" or "31000-31999".
func parseRange(text string) (portRange, bool) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 16)
	to, err2 := strconv.ParseUint(last, 10, 16)
	if err1 != nil || err2 != nil || from == 0 || to < from {
		return portRange{}, false
	}
	return portRange{uint16(from), uint16(to)}, true
}

// has reports whether a port may be used.
func (a allowance) has(port uint16) bool {
	return slices.ContainsFunc(a.ports, func(r portRange) bool { return r.first <= port && port <= r.last })
}

// forbids returns the first port of a use that may not be used, and whether there is
// one. The port that the pool checks for everybody needs no permission.
func (a allowance) forbids(u Use, pool *v1alpha1.EndpointPool) (uint16, bool) {
	for _, p := range u.Ports {
		if !a.has(p.Number) {
			return p.Number, true
		}
	}
	port := u.Check.Port
	if port == 0 || a.has(port) || port == poolPort(pool) {
		return 0, false
	}
	return port, true
}

// poolPort is the port that the pool checks for all its targets, 0 where each target's
// own is checked.
func poolPort(pool *v1alpha1.EndpointPool) uint16 {
	if pool.Spec.HealthCheck.Port == nil {
		return 0
	}
	return uint16(*pool.Spec.HealthCheck.Port)
}
