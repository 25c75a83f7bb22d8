// Package apiserver gives a case of the conformance suite a namespace of its own
// on a real API server: a user with the rights that a store says it needs and
// no others, the other client that the suite asks for, and what the server
// recorded of the user's requests. It is for tests only.
package apiserver

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// Namespace is an empty namespace with its user. It is also the other client.
type Namespace struct {
	// Name is the namespace's name, User that of its user.
	Name, User string

	t      testing.TB
	server *controlplane.ControlPlane
	client *kubernetes.Clientset
}

// New makes a namespace whose user has the rights.
func New(t *testing.T, server *controlplane.ControlPlane, rights ...rbacv1.PolicyRule) *Namespace {
	t.Helper()
	return NewFor(t, server, "", rights...)
}

// NewFor makes a namespace in which that user has the rights, one of the namespace's
// name where it is empty.
func NewFor(t testing.TB, server *controlplane.ControlPlane, user string, rights ...rbacv1.PolicyRule) *Namespace {
	t.Helper()
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "store-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := &Namespace{Name: namespace.Name, User: cmp.Or(user, namespace.Name), t: t, server: server, client: client}
	if len(rights) > 0 {
		n.Grant(rights...)
	}
	return n
}

// Rights is one rule of a Role.
func Rights(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// Grant gives the user the rights in the namespace.
func (n *Namespace) Grant(rights ...rbacv1.PolicyRule) {
	n.t.Helper()
	meta := metav1.ObjectMeta{Name: n.Name, Namespace: n.Name}
	_, err := n.client.RbacV1().Roles(n.Name).Create(n.t.Context(),
		&rbacv1.Role{ObjectMeta: meta, Rules: rights}, metav1.CreateOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
	_, err = n.client.RbacV1().RoleBindings(n.Name).Create(n.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: n.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: n.User}},
	}, metav1.CreateOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
	for _, rule := range rights {
		asked := authorizationv1.ResourceAttributes{Namespace: n.Name, Group: rule.APIGroups[0], Resource: rule.Resources[0]}
		n.server.AwaitRights(n.t, n.User, true, asked, rule.Verbs...)
	}
}

// Revoke takes the rights away.
func (n *Namespace) Revoke(resource authorizationv1.ResourceAttributes, verbs ...string) {
	n.t.Helper()
	if err := n.client.RbacV1().RoleBindings(n.Name).Delete(n.t.Context(), n.Name, metav1.DeleteOptions{}); err != nil {
		n.t.Fatal(err)
	}
	resource.Namespace = n.Name
	n.server.AwaitRights(n.t, n.User, false, resource, verbs...)
}

// Requests returns what the user asked for in the namespace so far.
func (n *Namespace) Requests() []storetest.Request {
	var requests []storetest.Request
	for _, event := range n.server.Audit() {
		if event.User == n.User && event.Namespace == n.Name {
			requests = append(requests, storetest.Request{
				Verb: event.Verb, Resource: event.Resource, Name: event.Name, Path: event.Path,
			})
		}
	}
	return requests
}

// Put makes a slice say what the object says, whatever it said before.
func (n *Namespace) Put(object *discoveryv1.EndpointSlice) {
	n.t.Helper()
	api := n.client.DiscoveryV1().EndpointSlices(n.Name)
	object.Namespace, object.ResourceVersion, object.ManagedFields = n.Name, "", nil
	_, err := api.Update(n.t.Context(), object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = api.Create(n.t.Context(), object, metav1.CreateOptions{})
	}
	if err != nil {
		n.t.Fatalf("the other client puts slice %s: %v", object.Name, err)
	}
}

// Delete deletes a slice.
func (n *Namespace) Delete(name string) {
	n.t.Helper()
	err := n.client.DiscoveryV1().EndpointSlices(n.Name).Delete(n.t.Context(), name, metav1.DeleteOptions{})
	if err != nil {
		n.t.Fatalf("the other client deletes slice %s: %v", name, err)
	}
}

// Slices returns every slice in the namespace, sorted by name.
func (n *Namespace) Slices() []*discoveryv1.EndpointSlice {
	n.t.Helper()
	list, err := n.client.DiscoveryV1().EndpointSlices(n.Name).List(n.t.Context(), metav1.ListOptions{})
	if err != nil {
		n.t.Fatalf("the other client lists slices: %v", err)
	}
	var out []*discoveryv1.EndpointSlice
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	slices.SortFunc(out, func(a, b *discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// PutService makes the Service say what the object says.
func (n *Namespace) PutService(object *corev1.Service) {
	n.t.Helper()
	api := n.client.CoreV1().Services(n.Name)
	live, err := api.Get(n.t.Context(), object.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = api.Create(n.t.Context(), object, metav1.CreateOptions{})
	case err == nil:
		object.ResourceVersion = live.ResourceVersion
		_, err = api.Update(n.t.Context(), object, metav1.UpdateOptions{})
	}
	if err != nil {
		n.t.Fatalf("the other client puts the Service: %v", err)
	}
}

// DeleteService deletes the Service.
func (n *Namespace) DeleteService() {
	n.t.Helper()
	if err := n.client.CoreV1().Services(n.Name).Delete(n.t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		n.t.Fatalf("the other client deletes the Service: %v", err)
	}
}

// Service returns the Service, nil when there is none.
func (n *Namespace) Service() *corev1.Service {
	n.t.Helper()
	object, err := n.client.CoreV1().Services(n.Name).Get(n.t.Context(), "web", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		n.t.Fatalf("the other client gets the Service: %v", err)
	}
	return object
}
