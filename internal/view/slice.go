package view

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	utilnet "k8s.io/utils/net"

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
		if p.Name == nil || p.Port == nil || *p.Port == 0 {
			continue
		}
		port := slicePort{name: *p.Name, number: *p.Port, protocol: corev1.ProtocolTCP}
		if p.Protocol != nil {
			port.protocol = protocol(*p.Protocol)
		}
		if p.AppProtocol != nil {
			port.appProtocol = *p.AppProtocol
		}
		slice.ports = append(slice.ports, port)
	}
	for i := range object.Endpoints {
		if endpoint, ok := toEndpoint(&object.Endpoints[i], object.AddressType); ok {
			slice.endpoints = append(slice.endpoints, endpoint)
		}
	}
	return slice
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
			ready: said(e.Conditions.Ready, true), serving: said(e.Conditions.Serving, true), terminating: said(e.Conditions.Terminating, false),
		},
		zone: said(e.Zone, ""), node: said(e.NodeName, ""),
	}
	if r := e.TargetRef; r != nil {
		endpoint.target = views.TargetRef{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
	}
	return endpoint, true
}

// said is the value, or what counts where none is said.
func said[T any](value *T, unsaid T) T {
	if value == nil {
		return unsaid
	}
	return *value
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
