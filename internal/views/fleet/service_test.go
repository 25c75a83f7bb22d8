package fleet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
)

// exposes goes through the types of the Service, as the API server takes them.
func exposes(t *testing.T, w *world) {
	namespace := w.namespace(t, "exposes")
	e := simple(namespace, "edge", 0)
	e.Spec.Service = v1alpha1.EnvoyService{
		Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("example.com/lb"), LoadBalancerSourceRanges: []string{"203.0.113.0/24"},
		Annotations: map[string]string{"example.com/ip": "reserved"}, ExternalTrafficPolicy: ptr.To(corev1.ServiceExternalTrafficPolicyLocal),
		IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyPreferDualStack),
	}
	w.make(t, e)
	s := w.service(t, namespace, "a load balancer", func(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeLoadBalancer })
	got := v1alpha1.EnvoyService{
		Type: s.Spec.Type, LoadBalancerClass: s.Spec.LoadBalancerClass, LoadBalancerSourceRanges: s.Spec.LoadBalancerSourceRanges,
		Annotations: map[string]string{"example.com/ip": s.Annotations["example.com/ip"]}, ExternalTrafficPolicy: &s.Spec.ExternalTrafficPolicy,
		IPFamilyPolicy: s.Spec.IPFamilyPolicy,
	}
	if diff := cmp.Diff(e.Spec.Service, got); diff != "" {
		t.Errorf("Service (-spec +object):\n%s", diff)
	}
	// What the API server refuses to change is told with its words, and the rest stays.
	w.change(t, namespace, "edge", func(e *v1alpha1.Envoy) { e.Spec.Service.LoadBalancerClass = ptr.To("example.com/other") })
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionReady, "False", v1alpha1.ReasonRefused)
	w.kubectl(t, namespace, "", "scale", "envoy/edge", "--replicas=4") // as contract 133 wants it
	w.pods(t, namespace, "edge", 4)
	w.change(t, namespace, "edge", func(e *v1alpha1.Envoy) {
		e.Spec.Service = v1alpha1.EnvoyService{Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: ptr.To(corev1.ServiceExternalTrafficPolicyLocal)}
	})
	s = w.service(t, namespace, "a port of the nodes", func(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeNodePort })
	if s.Spec.LoadBalancerClass != nil || len(s.Spec.LoadBalancerSourceRanges) > 0 || s.Annotations["example.com/ip"] != "" || s.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		t.Errorf("got %+v, annotations %v: something of the load balancer is left", s.Spec, s.Annotations)
	}
	w.change(t, namespace, "edge", func(e *v1alpha1.Envoy) { e.Spec.Service = v1alpha1.EnvoyService{} })
	s = w.service(t, namespace, "inside the cluster", func(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeClusterIP })
	if s.Spec.ExternalTrafficPolicy != "" || s.Spec.Ports[0].NodePort != 0 {
		t.Errorf("got %+v: something of the port of the nodes is left", s.Spec)
	}
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionReady, "False", v1alpha1.ReasonPodsNotReady)
}

// panics is how often operators of this process panicked. The library goes on after one.
func panics(t *testing.T) float64 {
	t.Helper()
	all, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found, count := false, 0.0
	for _, family := range all {
		if family.GetName() == "controller_runtime_reconcile_panics_total" {
			found = true
			for _, one := range family.GetMetric() {
				count += one.GetCounter().GetValue()
			}
		}
	}
	if !found {
		t.Error("the library does not count panics any more")
	}
	return count
}
