package view

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Key names a Service.
type Key struct{ Namespace, Name string }

// Service is what the join needs of a Service. It is never changed once it is made.
type Service struct {
	Key

	Type corev1.ServiceType
	// IPv4 and IPv6 say which families the Service has.
	IPv4, IPv6 bool
	Ports      []Port
}

// Port is one port of a Service.
type Port struct {
	Name        string
	Number      int32
	Protocol    corev1.Protocol
	AppProtocol string
}

// ToService translates a Service. One of type ExternalName has no endpoints; it is
// nil.
func ToService(object *corev1.Service) *Service {
	if object.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	families := object.Spec.IPFamilies
	service := &Service{
		Key: Key{object.Namespace, object.Name}, Type: object.Spec.Type,
		IPv4: len(families) == 0 || slices.Contains(families, corev1.IPv4Protocol),
		IPv6: len(families) == 0 || slices.Contains(families, corev1.IPv6Protocol),
	}
	if service.Type == "" {
		service.Type = corev1.ServiceTypeClusterIP
	}
	for _, p := range object.Spec.Ports {
		port := Port{Name: p.Name, Number: p.Port, Protocol: protocol(p.Protocol)}
		if p.AppProtocol != nil {
			port.AppProtocol = *p.AppProtocol
		}
		service.Ports = append(service.Ports, port)
	}
	return service
}

// protocol is the one that counts where none is said.
func protocol(p corev1.Protocol) corev1.Protocol {
	if p == "" {
		return corev1.ProtocolTCP
	}
	return p
}

// Equal reports whether the join of both is the same.
func (s *Service) Equal(other *Service) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.Key == other.Key && s.Type == other.Type && s.IPv4 == other.IPv4 && s.IPv6 == other.IPv6 && slices.Equal(s.Ports, other.Ports)
}
