package publish

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Kind names why the Service cannot be filled. It is the reason of the Event.
type Kind string

// The kinds; empty where the Service can be filled.
const (
	ServiceMissing      Kind = "ServiceMissing"
	ServiceDeleting     Kind = "ServiceDeleting"
	ServiceHasSelector  Kind = "ServiceHasSelector"
	ServiceExternalName Kind = "ServiceExternalName"
	PortMismatch        Kind = "PortMismatch"
)

// Problem says why the Service cannot be filled, and the remedy.
type Problem struct {
	Kind    Kind
	Message string
}

// ResolvePorts returns the ports of the target with the Service's names and
// appProtocols, sorted, or why there are none.
func ResolvePorts(service Service, target Target) ([]Port, Problem) {
	name := target.Namespace + "/" + target.Service
	switch {
	case service.UID == "":
		return nil, Problem{ServiceMissing, fmt.Sprintf("there is no Service %s: its slices are left as they are; create it without a selector, or correct TARGET_NAMESPACE and TARGET_SERVICE_NAME", name)}
	case service.Deleting:
		return nil, Problem{ServiceDeleting, fmt.Sprintf("Service %s is being deleted: no slice is created; create it again when it is gone", name)}
	case service.ExternalName:
		return nil, Problem{ServiceExternalName, fmt.Sprintf("Service %s is of type ExternalName, which has no endpoints: no slice is created; make it ClusterIP, NodePort or LoadBalancer", name)}
	case service.HasSelector:
		return nil, Problem{ServiceHasSelector, fmt.Sprintf("Service %s has a selector, so Kubernetes manages its endpoints itself: no slice is created; remove spec.selector", name)}
	case service.Portless != "":
		return nil, Problem{PortMismatch, service.Portless}
	}
	if len(service.Ports) == 0 {
		return nil, Problem{PortMismatch, fmt.Sprintf("Service %s has no port, and a slice takes the names of its ports from there: no slice is created; give the Service a port, also where it is headless", name)}
	}
	if target.PortFromService {
		return portFromService(service, target, name)
	}
	ports := slices.Clone(target.Ports)
	slices.SortFunc(ports, ComparePorts)
	for i, p := range ports {
		at := slices.IndexFunc(service.Ports, func(s ServicePort) bool { return s.Name == p.Name && s.Protocol == p.Protocol })
		if at < 0 {
			return nil, Problem{PortMismatch, fmt.Sprintf("Service %s has no port named %q with protocol %s, only %s: no slice is created; correct TARGET_PORTS or the Service", name, p.Name, p.Protocol, describe(service.Ports))}
		}
		ports[i].AppProtocol = service.Ports[at].AppProtocol
	}
	return ports, Problem{}
}

// portFromService gives the one port of TARGET_PORT the name, the protocol and the
// appProtocol of the Service's port: the only one, else the one whose targetPort is
// that number, else the one whose port is.
func portFromService(service Service, target Target, name string) ([]Port, Problem) {
	number := target.Ports[0].Number
	matches := service.Ports
	if len(matches) != 1 {
		matches = slices.DeleteFunc(slices.Clone(service.Ports), func(s ServicePort) bool { return s.TargetPort != number })
	}
	if len(matches) == 0 {
		matches = slices.DeleteFunc(slices.Clone(service.Ports), func(s ServicePort) bool { return s.Port != number })
	}
	if len(matches) != 1 {
		return nil, Problem{PortMismatch, fmt.Sprintf("TARGET_PORT=%d fits %d ports of Service %s, which has %s: no slice is created; set TARGET_PORTS=name=%d", number, len(matches), name, describe(service.Ports), number)}
	}
	found := matches[0]
	return []Port{{Name: found.Name, Protocol: found.Protocol, Number: number, AppProtocol: found.AppProtocol}}, Problem{}
}

// describe lists a Service's ports for a message: a Service may have hundreds.
func describe(ports []ServicePort) string {
	return list(ports, 16, func(p ServicePort) string { return fmt.Sprintf("%q (%d/%s)", p.Name, p.Port, p.Protocol) })
}

// list names things in a message, the first ones of many.
func list[E any](all []E, most int, name func(E) string) string {
	var names []string
	for _, one := range all[:min(len(all), most)] {
		names = append(names, name(one))
	}
	text := strings.Join(names, ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// ServiceOf returns what matters of a Service; nil means that there is none.
func ServiceOf(object *corev1.Service) Service {
	if object == nil {
		return Service{}
	}
	service := Service{
		UID:          string(object.UID),
		Deleting:     object.DeletionTimestamp != nil,
		HasSelector:  len(object.Spec.Selector) > 0,
		ExternalName: object.Spec.Type == corev1.ServiceTypeExternalName,

		PublishNotReady: object.Spec.PublishNotReadyAddresses,
		Traits:          traitsOf(object),
	}
	for _, port := range object.Spec.Ports {
		out := ServicePort{Name: port.Name, Protocol: cmp.Or(Protocol(port.Protocol), TCP), Port: portNumber(port.Port)}
		if port.TargetPort.Type == intstr.Int {
			out.TargetPort = portNumber(port.TargetPort.IntVal)
		}
		out.AppProtocol = ptr.Deref(port.AppProtocol, "")
		service.Ports = append(service.Ports, out)
	}
	return service
}

// TopologyAnnotations are those of a Service that tell kube-proxy to prefer endpoints that are near.
func TopologyAnnotations() []string {
	return []string{corev1.AnnotationTopologyMode, corev1.DeprecatedAnnotationTopologyAwareHints}
}

// traitsOf returns what else of a Service matters to its clients.
func traitsOf(object *corev1.Service) Traits {
	spec := &object.Spec
	traits := Traits{
		IPv4:     slices.Contains(spec.IPFamilies, corev1.IPv4Protocol),
		IPv6:     slices.Contains(spec.IPFamilies, corev1.IPv6Protocol),
		Headless: spec.ClusterIP == corev1.ClusterIPNone,
	}
	var local []string
	if spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		local = append(local, "spec.externalTrafficPolicy")
	}
	if p := spec.InternalTrafficPolicy; p != nil && *p == corev1.ServiceInternalTrafficPolicyLocal {
		local = append(local, "spec.internalTrafficPolicy")
	}
	traits.Local = strings.Join(local, " and ")
	for _, name := range TopologyAnnotations() {
		if strings.EqualFold(object.Annotations[name], "Auto") {
			traits.Topology = "annotation " + name
		}
	}
	if spec.TrafficDistribution != nil {
		traits.Topology = "spec.trafficDistribution"
	}
	return traits
}

// portNumber is 0 for what is no port number; the API server refuses those.
func portNumber(number int32) uint16 {
	if number < 0 || number > 65535 {
		return 0
	}
	return uint16(number)
}
