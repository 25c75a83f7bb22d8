package join

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// Key names a Service.
type Key struct{ Namespace, Name string }

// Service is what the join needs of a Service. It is never changed once it is made.
type Service struct {
	Key

	Type corev1.ServiceType
	// IPv4 and IPv6 say which families the Service has.
	IPv4, IPv6 bool
	// IPv6First says that the first of its families is IPv6.
	IPv6First bool
	Ports     []Port
	// Fleets are the fleets of proxies in other namespaces that may use the Service, as
	// NAMESPACE/NAME.
	Fleets []string
	// ProxyProtocol is the header that the endpoints expect at the beginning of each
	// connection, empty for none.
	ProxyProtocol ProxyProtocol
	// TLS says how the certificates of endpoints that speak TLS are checked.
	TLS TLS
	// Unused are the fields that say something to kube-proxy when it chooses an endpoint, and
	// that count for no reader of the views.
	Unused []string
}

// TLS is how the certificates of endpoints are checked. Without Authorities and Unchecked
// nothing is said.
type TLS struct {
	// Authorities are certificates in PEM, of which one has to have signed that of an
	// endpoint.
	Authorities string
	// ServerName is the name that an endpoint is asked for, and that its certificate has
	// to have. Empty is the host that the client asks for.
	ServerName string
	// Unchecked says that any certificate will do. Authorities count before it.
	Unchecked bool
}

// Said reports whether the Service says how certificates are checked.
func (t TLS) Said() bool { return t.Authorities != "" || t.Unchecked }

// The annotations of a Service that are read, in the words of v1alpha1. Another one than
// ShownAnnotation may be configured.
const (
	ShownAnnotation         = v1alpha1.AnnotationViews
	FleetsAnnotation        = v1alpha1.AnnotationFleets
	ProxyProtocolAnnotation = v1alpha1.AnnotationProxyProtocol
	AuthorityAnnotation     = v1alpha1.AnnotationTLSCertificateAuthority
	ServerNameAnnotation    = v1alpha1.AnnotationTLSServerName
	SkipVerifyAnnotation    = v1alpha1.AnnotationTLSInsecureSkipVerify
)

// ProxyProtocol is a version of the PROXY protocol.
type ProxyProtocol string

// The versions of the PROXY protocol. Another value of the annotation says nothing.
const (
	ProxyV1 ProxyProtocol = "v1"
	ProxyV2 ProxyProtocol = "v2"
)

// Port is one port of a Service.
type Port struct {
	Name        string
	Number      int32
	Protocol    corev1.Protocol
	AppProtocol string
}

// Whoever may write a Service decides how much it says. Of that is kept what is read.
const (
	// mostFleets is how many fleets a Service may name, and mostOfFleet how long the name of
	// one can be.
	mostFleets, mostOfFleet = 64, 2*63 + 1
	// mostOfAuthority is enough for a dozen certificates. Longer ones are no certificate:
	// a part of them would refuse endpoints whose authority is in the rest.
	mostOfAuthority  = 32 << 10
	tooLongAuthority = "the annotation " + AuthorityAnnotation + " has more than 32 KiB"
	// mostPorts is how many ports of a Service are known, the first ones.
	mostPorts = 256
	// mostOfText is one byte more than the longest name of a server, and the longest text of an
	// endpoint, that is valid.
	mostOfText = 254
)

// What is kept of objects, without their texts, in bytes.
const (
	perObject      = 512
	perServicePort = 512 // with the views of the port
	perSlicePort   = 64
	perView        = 1 << 10
)

// ToService translates a Service. One of type ExternalName has no endpoints; it is
// nil.
func ToService(object *corev1.Service) *Service {
	if object.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	families := object.Spec.IPFamilies
	service := &Service{
		Key: Key{object.Namespace, object.Name}, Type: cmp.Or(object.Spec.Type, corev1.ServiceTypeClusterIP), Unused: unused(&object.Spec),
		IPv4:      len(families) == 0 || slices.Contains(families, corev1.IPv4Protocol),
		IPv6:      len(families) == 0 || slices.Contains(families, corev1.IPv6Protocol),
		IPv6First: len(families) > 0 && families[0] == corev1.IPv6Protocol,
	}
	for name := range strings.SplitSeq(object.Annotations[FleetsAnnotation], ",") {
		if name = strings.TrimSpace(name); name != "" && len(name) <= mostOfFleet && len(service.Fleets) < mostFleets {
			service.Fleets = append(service.Fleets, strings.Clone(name))
		}
	}
	switch header := ProxyProtocol(object.Annotations[ProxyProtocolAnnotation]); header {
	case ProxyV1, ProxyV2:
		service.ProxyProtocol = header
	}
	if text := object.Annotations[AuthorityAnnotation]; strings.TrimSpace(text) != "" {
		service.TLS.Authorities = strings.ToValidUTF8(text, "?")
		if len(text) > mostOfAuthority {
			service.TLS.Authorities = tooLongAuthority
		}
	}
	service.TLS.ServerName = strings.Clone(cut(strings.TrimSpace(object.Annotations[ServerNameAnnotation])))
	service.TLS.Unchecked = object.Annotations[SkipVerifyAnnotation] == "true"
	for _, p := range object.Spec.Ports[:min(len(object.Spec.Ports), mostPorts)] {
		service.Ports = append(service.Ports, Port{
			Name: p.Name, Number: p.Port, Protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP), AppProtocol: ptr.Deref(p.AppProtocol, ""),
		})
	}
	return service
}

// MostOfAnnotation returns how many bytes of the value of an annotation are read, 0 of one
// that is not.
func MostOfAnnotation(name string) int {
	if slices.Contains(v1alpha1.ViewAnnotations(), name) {
		return mostOfAuthority + 1
	}
	return 0
}

// unused are the fields that count for kube-proxy alone.
func unused(s *corev1.ServiceSpec) []string {
	var all []string
	if s.SessionAffinity == corev1.ServiceAffinityClientIP {
		all = append(all, "sessionAffinity")
	}
	if s.TrafficDistribution != nil {
		all = append(all, "trafficDistribution")
	}
	if ptr.Deref(s.InternalTrafficPolicy, "") == corev1.ServiceInternalTrafficPolicyLocal {
		all = append(all, "internalTrafficPolicy")
	}
	return all
}

// Size is about how many bytes are kept of a Service, 0 of none.
func (s *Service) Size() int {
	if s == nil {
		return 0
	}
	size := perObject + len(s.Namespace) + len(s.Name) + len(s.TLS.Authorities) + len(s.TLS.ServerName)
	for _, fleet := range s.Fleets {
		size += len(fleet)
	}
	for _, port := range s.Ports {
		size += perServicePort + len(port.Name) + len(port.AppProtocol)
	}
	return size
}

// Equal reports whether both say the same to every reader.
func (s *Service) Equal(other *Service) bool {
	return reflect.DeepEqual(s, other)
}
