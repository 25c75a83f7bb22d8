package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// A remote Service of a real API server, with the rights that the how-to names.
func TestContract231CheckReadsTheRemoteServiceThatIsFollowed(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	w := newWorld(t, controlplane.Start(t, controlplane.Options{Audit: true}), "client-go")
	r := newRemote(t, w.cp, w)
	w.env["REMOTE_SERVICE"] = "remote-shop/web"
	looked := func() checkItem {
		t.Helper()
		got := w.checked()
		for _, c := range got.Checks {
			if c.ID == "nodes-remote-service" {
				return c
			}
		}
		t.Fatalf("got no check of the remote Service: %+v", got)
		return checkItem{}
	}
	r.makeRemoteService(30080)
	if got := looked(); got.Result != "fail" || !strings.Contains(got.Message, `cannot watch resource "endpointslices"`) ||
		!strings.Contains(got.Remedy, "list and watch of endpointslices (discovery.k8s.io) and services in namespace remote-shop") {
		t.Errorf("without rights: got %+v, want these", got)
	}
	as := *w
	as.user = r.user
	as.grantAll("placement",
		rbacv1.PolicyRule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "watch"}})
	r.putPods(w.nodes[0].Name, w.nodes[1].Name)
	before := len(w.cp.Audit())
	if got := looked(); got.Result != "warn" || !strings.Contains(got.Message, fmt.Sprintf("port %d is not one of its nodePorts, which are [30080]", port)) {
		t.Errorf("got %+v, want the port that differs", got)
	}
	asked := 0
	for _, e := range w.cp.Audit()[before:] {
		if e.User == r.user && e.Namespace == "remote-shop" {
			asked++
		}
	}
	if asked == 0 || asked > 10 {
		t.Errorf("got %d requests in the remote namespace, want 10 at most", asked)
	}
	r.putPods("worker-elsewhere")
	if got := w.checked(); !strings.Contains(got.stdout, "1 node that the inventory does not list: worker-elsewhere") || strings.Contains(got.stdout, `"id": "probes-none"`) {
		t.Errorf("got %s, want the node by name, and no endpoint checked", got.stdout)
	}
}

// makeRemoteService makes Service web of policy Local in namespace remote-shop.
func (r *remote) makeRemoteService(nodePort int32) {
	r.t.Helper()
	_, err := r.client.CoreV1().Namespaces().Create(r.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "remote-shop"}}, metav1.CreateOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = r.client.CoreV1().Services("remote-shop").Create(r.t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080), NodePort: nodePort}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
}

// putPods makes the one slice of the remote Service say that these nodes have a ready Pod.
func (r *remote) putPods(nodes ...string) {
	r.t.Helper()
	slices, yes, no := r.client.DiscoveryV1().EndpointSlices("remote-shop"), true, false
	o := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	o.Name, o.Labels = "web-1", map[string]string{discoveryv1.LabelServiceName: "web"}
	for i, name := range nodes {
		o.Endpoints = append(o.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprint("10.244.0.", i+1)}, NodeName: &name,
			Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
		})
	}
	_, err := slices.Create(r.t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		_, err = slices.Update(r.t.Context(), o, metav1.UpdateOptions{})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}
