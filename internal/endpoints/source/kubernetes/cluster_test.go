package kubernetes_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// cluster is an API server as its administrator sees it.
type cluster struct {
	*controlplane.ControlPlane

	t      *testing.T
	http   *http.Client
	client *kubernetes.Clientset
}

var users atomic.Int64

// newCluster has no nodes, now and when the test ends.
func newCluster(t *testing.T, server *controlplane.ControlPlane) *cluster {
	t.Helper()
	config := server.Config()
	// A connection that other tests do not share ends with this test.
	config.Proxy = http.ProxyFromEnvironment
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{ControlPlane: server, t: t, http: httpClient, client: client}
	c.clear()
	t.Cleanup(func() { httpClient.CloseIdleConnections() })
	return c
}

// clear deletes every node.
func (c *cluster) clear() {
	c.t.Helper()
	if err := c.client.CoreV1().Nodes().DeleteCollection(c.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// user makes a user with these verbs on nodes and returns its name.
func (c *cluster) user(verbs ...string) string {
	c.t.Helper()
	name := fmt.Sprintf("reader-%d", users.Add(1))
	c.grant(name, verbs...)
	return name
}

func (c *cluster) grant(name string, verbs ...string) {
	c.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: verbs},
	}}
	rbac := c.client.RbacV1()
	if _, err := rbac.ClusterRoles().Create(c.t.Context(), role, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		if _, err := rbac.ClusterRoles().Update(c.t.Context(), role, metav1.UpdateOptions{}); err != nil {
			c.t.Fatal(err)
		}
		c.await(name, verbs)
		return
	}
	_, err := rbac.ClusterRoleBindings().Create(c.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.await(name, verbs)
}

// await waits until the API server knows of the rights.
func (c *cluster) await(name string, verbs []string) {
	c.t.Helper()
	c.AwaitRights(c.t, name, true, authorizationv1.ResourceAttributes{Resource: "nodes"}, verbs...)
}

// put makes the cluster hold exactly these nodes.
func (c *cluster) put(nodes []inventory.Node) {
	c.t.Helper()
	have, err := c.client.CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, node := range have.Items {
		if !slices.ContainsFunc(nodes, func(n inventory.Node) bool { return n.Name == node.Name }) {
			c.delete(node.Name)
		}
	}
	slots := make(chan struct{}, 8)
	var creating sync.WaitGroup
	for _, n := range nodes {
		if slices.ContainsFunc(have.Items, func(node corev1.Node) bool { return n.Name == node.Name }) {
			continue
		}
		slots <- struct{}{}
		creating.Go(func() {
			defer func() { <-slots }()
			if _, err := c.client.CoreV1().Nodes().Create(c.t.Context(), object(n), metav1.CreateOptions{}); err != nil {
				c.t.Errorf("create node: %v", err)
			}
		})
	}
	creating.Wait()
}

func (c *cluster) delete(name string) {
	c.t.Helper()
	if err := c.client.CoreV1().Nodes().Delete(c.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// change changes a node's metadata and spec, and its status.
func (c *cluster) change(name string, change func(*corev1.Node)) {
	c.t.Helper()
	for _, update := range []func(*corev1.Node) error{
		func(n *corev1.Node) error {
			_, err := c.client.CoreV1().Nodes().Update(c.t.Context(), n, metav1.UpdateOptions{})
			return err
		},
		func(n *corev1.Node) error {
			_, err := c.client.CoreV1().Nodes().UpdateStatus(c.t.Context(), n, metav1.UpdateOptions{})
			return err
		},
	} {
		node, err := c.client.CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			c.t.Fatal(err)
		}
		change(node)
		if err := update(node); err != nil {
			c.t.Fatal(err)
		}
	}
}

// requests counts the user's requests for nodes by their verb.
func (c *cluster) requests(user string) map[string]int {
	verbs := map[string]int{}
	for _, event := range c.Audit() {
		if event.User == user {
			verbs[event.Verb+" "+event.Resource]++
		}
	}
	return verbs
}

// object is a Node that reads as n does.
func object(n inventory.Node) *corev1.Node {
	node := &corev1.Node{}
	node.Name, node.Spec.ProviderID = n.Name, "ionos://"+n.ID
	node.Labels = map[string]string{}
	if n.Zone != "" {
		node.Labels[corev1.LabelTopologyZone] = n.Zone
	}
	if !n.Worker {
		node.Labels["node-role.kubernetes.io/control-plane"] = ""
	}
	if n.Leaving {
		node.Spec.Taints = append(node.Spec.Taints, taint("ToBeDeletedByClusterAutoscaler"))
	}
	status := corev1.ConditionFalse
	if n.Ready {
		status = corev1.ConditionTrue
	}
	readyIs(node, status, "Test", metav1.Now())
	for _, addr := range n.Addresses {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: addr.String()})
	}
	return node
}

// same reports whether both lists hold the same nodes. Order and Detail do not
// matter.
func same(a, b []inventory.Node) bool {
	return slices.Equal(lines(a), lines(b))
}

func lines(nodes []inventory.Node) []string {
	var all []string
	for _, n := range nodes {
		var addrs []string
		for _, addr := range n.Addresses {
			addrs = append(addrs, addr.String())
		}
		slices.Sort(addrs)
		all = append(all, fmt.Sprint(n.ID, n.Name, n.Zone, n.Ready, n.Worker, n.Leaving, n.Excluded, strings.Join(addrs, ",")))
	}
	slices.Sort(all)
	return all
}
