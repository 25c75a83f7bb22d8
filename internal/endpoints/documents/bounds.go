package documents

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// Bounds are what the documents in the API server may not go beyond, whoever writes
// them. What is mounted has none.
type Bounds struct {
	Subnets []netip.Prefix
	// Namespaces are all where the only one is "*".
	Namespaces []string
	Ports      settings.Ranges
}

// everywhere reports whether every namespace is within the bounds.
func (b Bounds) everywhere() bool { return slices.Contains(b.Namespaces, "*") }

// allows reports whether a namespace is within the bounds.
func (b Bounds) allows(namespace string) bool {
	return b.everywhere() || slices.Contains(b.Namespaces, namespace)
}

// covers reports whether a subnet is within the bounds.
func (b Bounds) covers(text string) bool {
	subnet, err := netip.ParsePrefix(text)
	return err == nil && slices.ContainsFunc(b.Subnets, func(bound netip.Prefix) bool {
		return bound.Bits() <= subnet.Bits() && bound.Contains(subnet.Addr())
	})
}

// spans reports whether a port or a range of them is within one range of the bounds.
func (b Bounds) spans(text string) bool {
	ports := settings.ParsePorts(text)
	return len(ports) == 1 && slices.ContainsFunc(b.Ports, func(r settings.Range) bool { return r.First <= ports[0].First && ports[0].Last <= r.Last })
}

// outside says what of a document is beyond the bounds.
func (b Bounds) outside(d Document) []Mistake {
	var found []Mistake
	note := func(field, value, rule, remedy string) {
		found = append(found, Mistake{File: APIServer, Document: d.Key.String(), Field: field, Value: value, Rule: rule, Remedy: remedy})
	}
	bound := "BOUNDS_NAMESPACES=" + strings.Join(b.Namespaces, ",")
	if d.Binding != nil {
		if !b.allows(d.Key.Namespace) {
			note("metadata.namespace", d.Key.Namespace, "is outside of "+bound, "ask the platform to add the namespace to the bounds of this installation")
		}
		return found
	}
	for i, subnet := range d.Pool.Spec.Subnets {
		if !b.covers(subnet) {
			note(fmt.Sprintf("spec.subnets[%d]", i), subnet, "is outside of BOUNDS_SUBNETS="+settings.Join(b.Subnets), "name subnets within, or widen the bounds of this installation")
		}
	}
	for i, allow := range d.Pool.Spec.Allow {
		path := fmt.Sprintf("spec.allow[%d]", i)
		if allow.NamespaceSelector != nil && !b.everywhere() {
			note(path+".namespaceSelector", "", "may select namespaces outside of "+bound, "name the namespaces, or set the bound to *")
		}
		for i, namespace := range allow.Namespaces {
			if !b.allows(namespace) {
				note(fmt.Sprintf("%s.namespaces[%d]", path, i), namespace, "is outside of "+bound, "remove it, or widen the bounds of this installation")
			}
		}
		for i, ports := range allow.Ports {
			if !b.spans(ports) {
				note(fmt.Sprintf("%s.ports[%d]", path, i), ports, "is outside of BOUNDS_PORTS="+b.Ports.String(), "name ports within, or widen the bounds of this installation")
			}
		}
	}
	return found
}

// unopened says that a pool checks a port for all its Services that is not one of the bounds.
// It allows no more than before, so it is no mistake. But where the chart opens only the ports
// of the bounds, no check gets through.
func (b Bounds) unopened(pool *v1alpha1.EndpointPool) string {
	if pool == nil || pool.Spec.HealthCheck.Mode == v1alpha1.HealthCheckNone || pool.Spec.HealthCheck.Port == nil || b.Ports.Contains(int(*pool.Spec.HealthCheck.Port)) {
		return ""
	}
	return fmt.Sprintf("spec.healthCheck.port=%d is outside of BOUNDS_PORTS=%s, which the NetworkPolicy of the chart opens: if the checks are silent, open the port by networkPolicy.extraEgress, or check a port within", *pool.Spec.HealthCheck.Port, b.Ports)
}
