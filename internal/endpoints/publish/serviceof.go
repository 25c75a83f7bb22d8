package publish

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

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
		out := ServicePort{Name: port.Name, Protocol: Protocol(port.Protocol), Port: portNumber(port.Port)}
		if out.Protocol == "" {
			out.Protocol = TCP
		}
		if port.TargetPort.Type == intstr.Int {
			out.TargetPort = portNumber(port.TargetPort.IntVal)
		}
		out.AppProtocol = value(port.AppProtocol, "")
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
