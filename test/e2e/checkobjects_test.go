package e2e_test

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// mistakesOfTheService are about the Service.
func mistakesOfTheService() []mistake {
	service := func(change func(*corev1.Service)) func(*world) []string {
		return func(w *world) []string {
			w.changeService(change)
			return nil
		}
	}
	return []mistake{
		{name: "NoService", id: "service-valid", says: []string{"there is no Service", "TARGET_SERVICE_NAME"}, make: func(w *world) []string {
			if err := w.client.CoreV1().Services(w.namespace).Delete(w.t.Context(), "web", metav1.DeleteOptions{}); err != nil {
				w.t.Fatal(err)
			}
			return nil
		}},
		{name: "ServiceBeingDeleted", id: "service-valid", says: []string{"being deleted"}, make: func(w *world) []string {
			w.changeService(func(s *corev1.Service) { s.Finalizers = []string{"example.com/slow"} })
			if err := w.client.CoreV1().Services(w.namespace).Delete(w.t.Context(), "web", metav1.DeleteOptions{}); err != nil {
				w.t.Fatal(err)
			}
			return nil
		}},
		{name: "ServiceWithSelector", id: "service-valid", says: []string{"remove spec.selector"},
			make: service(func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "web"} })},
		{name: "ServiceExternalName", id: "service-valid", says: []string{"ExternalName", "ClusterIP"}, make: service(func(s *corev1.Service) {
			s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com", Ports: s.Spec.Ports}
		})},
		{name: "WrongPortName", id: "service-valid", says: []string{`"https"`, `"http" (80/TCP)`, "TARGET_PORTS"}, make: func(*world) []string {
			return []string{"TARGET_PORT=", "TARGET_PORTS=https=8080"}
		}},
		{name: "NoFittingFamily", id: "service-clients", says: []string{"IP family of 1 of 1 endpoint"}, make: func(w *world) []string {
			w.nodes = []node{w.newNode(netns.Addresses6(w.t, 1)[0])}
			w.writeInventory(w.nodes)
			return nil
		}},
		{name: "AFamilyTooMany", result: "warn", id: "service-clients", says: []string{"1 of 4 endpoints"}, make: func(w *world) []string {
			w.nodes = append(w.nodes, w.newNode(netns.Addresses6(w.t, 1)[0]))
			w.writeInventory(w.nodes)
			return nil
		}},
		{name: "LocalTrafficOnly", id: "service-clients", says: []string{"externalTrafficPolicy", "Cluster"}, make: service(func(s *corev1.Service) {
			s.Spec.Type, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeNodePort, corev1.ServiceExternalTrafficPolicyLocal
		})},
	}
}

// changeService changes the world's Service.
func (w *world) changeService(change func(*corev1.Service)) {
	w.t.Helper()
	api := w.client.CoreV1().Services(w.namespace)
	service, err := api.Get(w.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	change(service)
	if _, err := api.Update(w.t.Context(), service, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// mistakesOfTheSlices are about objects beside our slices, or in their place.
func mistakesOfTheSlices() []mistake {
	const mirroring = "endpointslicemirroring-controller.k8s.io"
	return []mistake{
		{name: "SliceOfAnother", id: "slices-ours", says: []string{`managed by "somebody"`, "TARGET_ENDPOINTSLICE_NAME"}, make: func(w *world) []string {
			w.createSlice("web-remote", "somebody", "web")
			return nil
		}},
		{name: "SliceOfAnotherThatNoLabelFinds", id: "slices-ours", says: []string{`managed by "somebody"`}, make: func(w *world) []string {
			w.createSlice("web-remote", "somebody", "other")
			return nil
		}},
		{name: "MirroredSlice", id: "slices-beside", says: []string{"web-m1rr0", "mirrors", "1 endpoint for Service", "once the slices", "skip-mirror=true"}, make: func(w *world) []string {
			w.createSlice("web-m1rr0", mirroring, "web")
			return nil
		}},
		{name: "SliceFromATimeWithSelector", id: "slices-beside", says: []string{"endpointslice-controller.k8s.io", "once the slices"}, make: func(w *world) []string {
			w.createSlice("web-x7z9q", "endpointslice-controller.k8s.io", "web")
			return nil
		}},
		{name: "SliceOfAnotherProgram", result: "warn", id: "slices-beside", says: []string{`"somebody"`}, make: func(w *world) []string {
			w.createSlice("web-other", "somebody", "web")
			return nil
		}},
	}
}

// createSlice makes a slice with one endpoint and a manager.
func (w *world) createSlice(name, manager, service string) {
	w.t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelManagedBy: manager, discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.9"}}},
	}
	if _, err := w.client.DiscoveryV1().EndpointSlices(w.namespace).Create(w.t.Context(), slice, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// mistakesOfTheNodes are about the nodes and the backends on them.
func mistakesOfTheNodes() []mistake {
	return []mistake{
		{name: "OneOutsideTheSubnet", id: "nodes-node", says: []string{"elsewhere 192.168.7.7", "192.168.7.7 is outside SECURED_SUBNET_CIDR=10.0.0.0/16"}, make: func(w *world) []string {
			w.writeInventory(append(w.nodes, node{Name: "elsewhere", IP: "192.168.7.7", Ready: true, Worker: true}))
			return nil
		}},
		{name: "ABackendThatRefuses", id: "probes-address", says: []string{"refused", "start the workload"}, make: func(w *world) []string {
			w.nodes[1].backends[0].kill()
			return nil
		}},
		{name: "ABackendThatIsSilent", id: "probes-address", says: []string{"no answer", "HEALTH_CHECK_TIMEOUT=200ms", "firewall"}, make: func(w *world) []string {
			w.nodes[1].backends[0].kill()
			netns.RemoveAddress(w.t, w.nodes[1].backends[0].addr)
			return []string{"HEALTH_CHECK_TIMEOUT=200ms"}
		}},
	}
}

// allOutside: each address is named, and that none is left.
func allOutside(t *testing.T, w *world) {
	got := w.checked("SECURED_SUBNET_CIDR=10.9.0.0/16")
	wantCounts(t, got, map[string]int{"nodes-usable": 1, "nodes-node": 3})
	if !strings.Contains(got.stdout, "3 nodes, but no address") {
		t.Errorf("got no word of it in %s", got.stdout)
	}
}

// allSilent: the network is the first possible cause.
func allSilent(t *testing.T, w *world) {
	for _, n := range w.nodes {
		n.backends[0].kill()
		netns.RemoveAddress(t, n.backends[0].addr)
	}
	got := w.checked("HEALTH_CHECK_TIMEOUT=200ms")
	wantCounts(t, got, map[string]int{"probes-none": 1, "probes-address": 3})
	for _, says := range []string{"3 endpoints, but no endpoint passes", "security group", "NetworkPolicy"} {
		if !strings.Contains(got.stdout, says) {
			t.Errorf("got no %q in %s", says, got.stdout)
		}
	}
}

// allRefuse: the network is open, so it is the workload.
func allRefuse(t *testing.T, w *world) {
	for _, n := range w.nodes {
		n.backends[0].kill()
	}
	got := w.checked()
	wantCounts(t, got, map[string]int{"probes-none": 1, "probes-address": 3})
	if !strings.Contains(got.stdout, "the network is open") || strings.Contains(got.stdout, "security group") {
		t.Errorf("got no word of the workload, or one of the way, in %s", got.stdout)
	}
}

// wantCounts checks how often each check failed, and that no other did.
func wantCounts(t *testing.T, got verdict, want map[string]int) {
	t.Helper()
	count := map[string]int{}
	for _, c := range got.with("fail") {
		count[c.ID]++
	}
	if got.code != 1 || !maps.Equal(count, want) {
		t.Errorf("got status %d and failures %v, want 1 and %v", got.code, count, want)
	}
}
