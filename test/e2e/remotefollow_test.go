package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// TestContract234To236TheRemoteServiceIsFollowed has Pods in one API server and the slice in
// another, and the built program between them.
func TestContract234To236TheRemoteServiceIsFollowed(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	local := controlplane.Start(t, controlplane.Options{Audit: true})
	r := newRemote(t, controlplane.Start(t, controlplane.Options{Audit: true}), newWorld(t, local, "client-go"))
	r.makeFar()
	r.place(0, 1)
	r.env["REMOTE_SERVICE"], r.env["DRAIN_PERIOD"] = "far/web", "5s"
	s := newSurfaces(r.start())
	r.wantPublished(r.all()[:2])
	aChangeIsFollowedAtOnce(t, r)
	aPodMoves(t, r)
	both := r.all()[1:]
	isTold(t, r, s, "no node is named", "PlacementRejected", both, func() { r.place() })
	isOver(t, r, s, both, func() { r.place(1, 2) })
	isTold(t, r, s, "the remote Service is deleted", "PlacementRejected", both, r.removeFar)
	isOver(t, r, s, both, func() { r.makeService(); r.place(1, 2) })
	isTold(t, r, s, "the right is taken away", "PlacementUnavailable", both, func() { r.grantFar("get") })
	isOver(t, r, s, both, func() { r.grantFar("list", "watch") })
	isTold(t, r, s, "the remote API server is away", "PlacementUnavailable", both, r.cp.Stop)
	r.nodes[2].backends[0].kill()
	r.wantPublished([]string{r.nodes[1].IP + " ready", r.nodes[2].IP + " down"})
	r.nodes[2].backends[0].start(t)
	isOver(t, r, s, both, r.cp.Start)
}

// aPodMoves from the first node to the third.
func aPodMoves(t *testing.T, r *remote) {
	t.Helper()
	pause()
	before := len(asked(r.cp, r.user))
	moved := time.Now()
	r.place(1, 2)
	r.wantPublished([]string{r.nodes[0].IP + " draining", r.nodes[1].IP + " ready", r.nodes[2].IP + " ready"})
	t.Logf("a Pod that moves is in the slice after %v", time.Since(moved))
	r.wantExplained(r.nodes[0].Name, "no ready Pod is on node")
	r.wantPublished(r.all()[1:])
	r.wantExplained(r.nodes[0].Name, "NoPod")
	if got := asked(r.cp, r.user)[before:]; len(got) != 0 {
		t.Errorf("got the requests %+v, want none but watches", got)
	}
}

// isTold does something and wants every surface to say so in time, and nothing to be taken away.
// The time begins when it is done: a server that is restored takes its own to start.
func isTold(t *testing.T, r *remote, s *surfaces, what, reason string, published []string, do func()) {
	t.Helper()
	events := len(r.told(reason))
	do()
	inTime(t, what, func() {
		for line := map[string]any(nil); line["reason"] != reason; {
			line = s.says("something is wrong with the placement of the remote Service")
		}
		r.awaitEvent(reason, events+1)
		if page := s.get(s.admin, "/"); !strings.Contains(page, reason) || !strings.Contains(page, "far/web") {
			t.Errorf("%s: the page does not say it", what)
		}
		if got := s.status(); got.Healthy || got.Source.RemoteService == nil || got.Source.RemoteService.Reason != reason {
			t.Errorf("%s: got the status %+v, want the reason in it", what, got)
		}
		if text := s.get(s.metrics, "/metrics"); !strings.Contains(text, fmt.Sprintf("ionos_endpointslice_placement_problem{kind=%q,pool=\"remote\"} 1\n", reason)) {
			t.Errorf("%s: no metric says it", what)
		}
	})
	if got := r.published(); !slices.Equal(got, published) {
		t.Errorf("%s: got %v published, want %v", what, got, published)
	}
}

// isOver does something and wants every surface to say that it is over.
func isOver(t *testing.T, r *remote, s *surfaces, published []string, do func()) {
	t.Helper()
	events := len(r.told("PlacementRecovered"))
	do()
	s.says("the placement of the remote Service counts again")
	r.awaitEvent("PlacementRecovered", events+1)
	r.until(func() bool { r := s.status().Source.RemoteService; return r != nil && r.Reason == "" }, func() string { return "the status still says it" })
	r.wantPublished(published)
}

// makeFar makes the namespace far with the Service web, which the daemon may follow.
func (r *remote) makeFar() {
	r.t.Helper()
	if _, err := r.client.CoreV1().Namespaces().Create(r.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "far"}}, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "follow"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "follow"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: r.user, APIGroup: rbacv1.GroupName}},
	}
	if _, err := r.client.RbacV1().RoleBindings("far").Create(r.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	r.grantFar("list", "watch")
	r.makeService()
}

// grantFar gives the daemon these rights in the namespace far, and no others.
func (r *remote) grantFar(verbs ...string) {
	r.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "follow"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: verbs},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: verbs},
	}}
	roles := r.client.RbacV1().Roles("far")
	_, err := roles.Update(r.t.Context(), role, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = roles.Create(r.t.Context(), role, metav1.CreateOptions{})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	for _, rule := range role.Rules {
		r.cp.AwaitRights(r.t, r.user, slices.Contains(verbs, "watch"), authorizationv1.ResourceAttributes{Namespace: "far", Group: rule.APIGroups[0], Resource: rule.Resources[0]}, "list", "watch")
	}
}

// makeService makes the Service far/web, with the policy Local.
func (r *remote) makeService() {
	r.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
		Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
	if _, err := r.client.CoreV1().Services("far").Create(r.t.Context(), service, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// removeFar deletes the Service and, as its controller would, its slices.
func (r *remote) removeFar() {
	r.t.Helper()
	if err := r.client.CoreV1().Services("far").Delete(r.t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		r.t.Fatal(err)
	}
	if err := r.client.DiscoveryV1().EndpointSlices("far").Delete(r.t.Context(), "web-1", metav1.DeleteOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// place says that ready Pods of the Service are on these nodes, as its controller would.
func (r *remote) place(nodes ...int) {
	r.t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}},
	}
	for _, i := range nodes {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf("10.244.%d.2", i)}, NodeName: &r.nodes[i].Name,
			Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
		})
	}
	all := r.client.DiscoveryV1().EndpointSlices("far")
	_, err := all.Update(r.t.Context(), slice, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = all.Create(r.t.Context(), slice, metav1.CreateOptions{})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}
