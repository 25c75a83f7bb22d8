package placement

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// part is what one object says of the placement of a Service. One without a name is of no
// object, and says nothing.
type part struct {
	name, service string
	says          inventory.Placement
	// nameless says that it has an endpoint which gets connections and names no node.
	nameless bool
}

// size is about how many bytes are kept.
func (p part) size() int {
	const object, node = 256, 16
	if p.name == "" {
		return 0
	}
	size := object + len(p.name) + len(p.service) + 2*len(p.says.NodePorts)
	for _, name := range slices.Concat(p.says.Ready, p.says.Ending) {
		size += node + len(name)
	}
	return size
}

// ofSlice is what an EndpointSlice says.
func ofSlice(o *discoveryv1.EndpointSlice) part {
	p := part{name: o.Name, service: o.Labels[discoveryv1.LabelServiceName]}
	for i := range o.Endpoints {
		says, node := o.Endpoints[i].Conditions, ptr.Deref(o.Endpoints[i].NodeName, "")
		ready, ends := ptr.Deref(says.Ready, true), ptr.Deref(says.Terminating, false)
		switch serves := ptr.Deref(says.Serving, ready); {
		case !ends && !ready, ends && !serves:
		case node == "":
			p.nameless = true
		case ends:
			p.says.Ending = append(p.says.Ending, node)
		default:
			p.says.Ready = append(p.says.Ready, node)
		}
	}
	p.says.Ready, p.says.Ending = sorted(p.says.Ready), sorted(p.says.Ending)
	return p
}

// ofService is what a Service says.
func ofService(o *corev1.Service) part {
	p := part{name: o.Name, service: o.Name, says: inventory.Placement{
		Found: true, Local: o.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
	}}
	for _, port := range o.Spec.Ports {
		if port.NodePort != 0 {
			p.says.NodePorts = append(p.says.NodePorts, uint16(port.NodePort))
		}
	}
	p.says.NodePorts = sorted(p.says.NodePorts)
	return p
}

// sorted returns the values, each once.
func sorted[T cmp.Ordered](all []T) []T {
	slices.Sort(all)
	return slices.Compact(all)
}
