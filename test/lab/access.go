//go:build lab

package lab

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// watcher is the user of all daemons at the remote API server.
const watcher = "watcher"

// rules are the rights that the README names, for the store that needs most, and
// those for leader election.
var rules = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch", "create", "update"}},
	{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}},
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"list", "watch", "create", "update"}},
}

// grant gives the daemon's user its rights in the local cluster and returns its
// kubeconfig.
func (x *Target) grant() string {
	x.t.Helper()
	ctx, rbac := x.t.Context(), x.world.local.RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "daemon"}, Rules: rules}
	if _, err := rbac.Roles(x.namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		x.t.Fatal(err)
	}
	_, err := rbac.RoleBindings(x.namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "daemon"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "daemon"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: x.User, APIGroup: rbacv1.GroupName}},
	}, metav1.CreateOptions{})
	if err != nil {
		x.t.Fatal(err)
	}
	for _, rule := range rules {
		asked := authorizationv1.ResourceAttributes{Namespace: x.namespace, Group: rule.APIGroups[0], Resource: rule.Resources[0]}
		x.world.Local.AwaitRights(x.t, x.User, true, asked, rule.Verbs...)
	}
	return x.world.Local.UserKubeconfig(x.t, x.User)
}

// grantNodes gives the daemons the right to read the nodes of the remote cluster, and
// returns the kubeconfig for it.
func (w *World) grantNodes(t testing.TB) string {
	t.Helper()
	return mayWatch(t, w.Remote, w.remote, watcher, schema.GroupResource{Resource: "nodes"})
}

// mayWatch gives a user the right to read and watch resources of a whole cluster, and
// returns its kubeconfig.
func mayWatch(t testing.TB, cp *controlplane.ControlPlane, client kubernetes.Interface, user string, resources ...schema.GroupResource) string {
	t.Helper()
	ctx, rbac, meta, verbs := t.Context(), client.RbacV1(), metav1.ObjectMeta{Name: user}, []string{"get", "list", "watch"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta}
	for _, r := range resources {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Resource}, Verbs: verbs})
	}
	if _, err := rbac.ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	_, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user, APIGroup: rbacv1.GroupName}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, r := range resources {
		cp.AwaitRights(t, user, true, authorizationv1.ResourceAttributes{Group: r.Group, Resource: r.Resource}, verbs...)
	}
	return cp.UserKubeconfig(t, user)
}
