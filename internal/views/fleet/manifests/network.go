package manifests

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// port is one of the Service, and of the Pods.
type port struct {
	name         string
	service, pod int32
}

// ports are those of the listeners. Another control plane says itself what there is to
// listen on; then it is the one port that kube-envoy-controller had.
func ports(e *v1alpha1.Envoy) []port {
	if e.Spec.XDS != nil {
		return []port{{name: "http", service: externalPort, pod: externalPodPort}}
	}
	all := make([]port, 0, len(e.Spec.Listeners))
	for i := range e.Spec.Listeners {
		l := &e.Spec.Listeners[i]
		all = append(all, port{name: l.Name, service: l.Port, pod: l.PodPort()})
	}
	return all
}

func service(e *v1alpha1.Envoy) *corev1.Service {
	theirs := &e.Spec.Service
	object := objectMeta(e, e.Spec.Name)
	object.Annotations = theirs.Annotations
	made := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: object,
		Spec: corev1.ServiceSpec{
			Type: cmp.Or(theirs.Type, corev1.ServiceTypeClusterIP), Selector: Selector(e), IPFamilyPolicy: theirs.IPFamilyPolicy,
			LoadBalancerClass: theirs.LoadBalancerClass, LoadBalancerSourceRanges: theirs.LoadBalancerSourceRanges,
		},
	}
	if made.Spec.Type != corev1.ServiceTypeClusterIP {
		made.Spec.ExternalTrafficPolicy = ptr.Deref(theirs.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	for _, p := range ports(e) {
		made.Spec.Ports = append(made.Spec.Ports, corev1.ServicePort{
			Name: p.name, Protocol: corev1.ProtocolTCP, Port: p.service, TargetPort: intstr.FromInt32(p.pod),
		})
	}
	return made
}

// budget lets drained nodes take one Pod at a time. A Pod that is not ready holds up no
// node.
func budget(e *v1alpha1.Envoy) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: objectMeta(e, e.Spec.Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: Selector(e)},
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		},
	}
}

// networkPolicy opens the ports of listeners, and that of readiness and metrics. What an
// Envoy connects to is not bounded: the addresses of endpoints are not known before.
func networkPolicy(e *v1alpha1.Envoy) *networkingv1.NetworkPolicy {
	var open []networkingv1.NetworkPolicyPort
	for _, p := range append(ports(e), port{pod: envoyconfig.HealthPort}) {
		open = append(open, networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(p.pod))})
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}, ObjectMeta: objectMeta(e, e.Spec.Name),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: Selector(e)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: open}},
		},
	}
}
