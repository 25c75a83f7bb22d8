package join

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	utilnet "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// Slice is what the join needs of an EndpointSlice. It is never changed once it is
// made.
type Slice struct {
	Key

	// Service is the name of the Service that the slice belongs to.
	Service   string
	ports     []slicePort
	endpoints []sliceEndpoint
	size      int
}

type slicePort struct {
	name        string
	protocol    corev1.Protocol
	number      int32
	appProtocol string
}

// sliceEndpoint is one address of a slice.
type sliceEndpoint struct {
	address    netip.Addr
	conditions conditions
	zone, node string
	target     views.TargetRef
}

// conditions are what a slice says of an endpoint, with what counts where it says
// nothing.
type conditions struct{ ready, serving, terminating bool }

// ToSlice translates an EndpointSlice. One that belongs to no Service, or whose
// addresses are no IP addresses, says nothing; it is nil.
func ToSlice(object *discoveryv1.EndpointSlice) *Slice {
	service := object.Labels[discoveryv1.LabelServiceName]
	if service == "" || object.AddressType != discoveryv1.AddressTypeIPv4 && object.AddressType != discoveryv1.AddressTypeIPv6 {
		return nil
	}
	slice := &Slice{Key: Key{object.Namespace, object.Name}, Service: service}
	for _, p := range object.Ports {
		// The API server does not check the number.
		if n := ptr.Deref(p.Port, 0); p.Name == nil || n < 1 || n > math.MaxUint16 {
			continue
		}
		slice.ports = append(slice.ports, slicePort{
			name: *p.Name, number: *p.Port, protocol: cmp.Or(ptr.Deref(p.Protocol, ""), corev1.ProtocolTCP), appProtocol: ptr.Deref(p.AppProtocol, ""),
		})
	}
	for i := range object.Endpoints {
		if endpoint, ok := toEndpoint(&object.Endpoints[i], object.AddressType); ok {
			slice.endpoints = append(slice.endpoints, endpoint)
		}
	}
	slice.weigh()
	return slice
}

// weigh notes how many bytes are kept of the slice and of the views that are made of it:
// one for each endpoint and port.
func (s *Slice) weigh() {
	s.size = perObject + len(s.Namespace) + len(s.Name) + len(s.Service)
	for _, p := range s.ports {
		s.size += perSlicePort + len(p.name) + len(p.appProtocol)
	}
	for _, e := range s.endpoints {
		s.size += max(1, len(s.ports))*perView + len(e.zone) + len(e.node) + len(e.target.Kind) + len(e.target.Namespace) + len(e.target.Name)
	}
}

// Size is about how many bytes are kept of a slice and its views, 0 of none.
func (s *Slice) Size() int {
	if s == nil {
		return 0
	}
	return s.size
}

// Within is what the slice says of what it had before: its ports and endpoints of that time
// which it still has, as they are now, each address once. It is nil where there was no slice.
func (s *Slice) Within(before *Slice) *Slice {
	if s == nil || before == nil {
		return nil
	}
	ports, places := make(map[string]bool), make(map[netip.Addr]int)
	for _, p := range before.ports {
		ports[p.name] = true
	}
	for _, e := range before.endpoints {
		places[e.address] = 0
	}
	out := &Slice{Key: s.Key, Service: s.Service}
	for _, p := range s.ports {
		if ports[p.name] {
			out.ports = append(out.ports, p)
		}
	}
	for _, e := range s.endpoints {
		switch place, known := places[e.address]; {
		case !known:
		case place == 0:
			out.endpoints = append(out.endpoints, e)
			places[e.address] = len(out.endpoints)
		case !e.conditions.terminating: // it counts, as choose says
			out.endpoints[place-1] = e
		}
	}
	out.weigh()
	return out
}

// toEndpoint translates an endpoint; false for one whose address is none of the
// slice's family.
func toEndpoint(e *discoveryv1.Endpoint, family discoveryv1.AddressType) (sliceEndpoint, bool) {
	if len(e.Addresses) == 0 {
		return sliceEndpoint{}, false
	}
	// As kube-proxy reads it: old slices may have leading zeros.
	address, ok := netip.AddrFromSlice(utilnet.ParseIPSloppy(e.Addresses[0]))
	if address = address.Unmap(); !ok || address.Is4() != (family == discoveryv1.AddressTypeIPv4) {
		return sliceEndpoint{}, false
	}
	endpoint := sliceEndpoint{
		address: address,
		conditions: conditions{
			ready: ptr.Deref(e.Conditions.Ready, true), serving: ptr.Deref(e.Conditions.Serving, true), terminating: ptr.Deref(e.Conditions.Terminating, false),
		},
		zone: cut(ptr.Deref(e.Zone, "")), node: cut(ptr.Deref(e.NodeName, "")),
	}
	if r := e.TargetRef; r != nil {
		endpoint.target = views.TargetRef{Kind: cut(r.Kind), Namespace: cut(r.Namespace), Name: cut(r.Name)}
	}
	return endpoint, true
}

// cut is a text that is as long as a valid one at most, in UTF-8. The API server checks neither of
// a zone, and an Envoy rejects the whole answer for one that is not.
func cut(text string) string {
	if len(text) >= mostOfText {
		text = strings.Clone(text[:mostOfText])
	}
	return strings.ToValidUTF8(text, "?")
}

// Equal reports whether the join of both is the same.
func (s *Slice) Equal(other *Slice) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.Key == other.Key && s.Service == other.Service && slices.Equal(s.ports, other.ports) && slices.Equal(s.endpoints, other.endpoints)
}

// Has reports whether the slice lists the address.
func (s *Slice) Has(address netip.Addr) bool {
	return slices.ContainsFunc(s.endpoints, func(e sliceEndpoint) bool { return e.address == address })
}
