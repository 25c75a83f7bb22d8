package placement_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/placement"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// What others write into their Services and slices is not kept: 40 MB of annotations beside
// the Service that is followed, with the rights of the how-to.
func TestContract238OnARealAPIServerOthersCostNothing(t *testing.T) {
	server := controlplane.Start(t, controlplane.Options{Audit: true})
	config := server.Config()
	config.QPS, config.Proxy = -1, http.ProxyFromEnvironment // and connections that end with this test
	connections, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer connections.CloseIdleConnections()
	client, err := kubernetes.NewForConfigAndClient(config, connections)
	if err != nil {
		t.Fatal(err)
	}
	create(t, client, "shop")
	access := kube.Access{Kubeconfig: server.UserKubeconfig(t, "reader"), Setting: "SECURED_KUBECONFIG"}
	for _, resource := range []authorizationv1.ResourceAttributes{{Namespace: "shop", Resource: "services"}, {Namespace: "shop", Group: "discovery.k8s.io", Resource: "endpointslices"}} {
		server.AwaitRights(t, "reader", true, resource, "list", "watch")
	}

	before := memory.Live()
	reader, err := placement.New(placement.Options{Way: access})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- reader.Run(ctx) }()
	f := reader.Follow(ctx, web())
	told(t, f, time.Minute, "the node", names("a"))
	if _, err := client.DiscoveryV1().EndpointSlices("shop").Update(ctx, slice(web(), "web-1", "b", "c"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	told(t, f, time.Minute, "the move", names("b", "c"))
	if used := memory.Live() - before; used > 2<<20 {
		t.Errorf("got %d bytes in use, want 2 MiB at most", used)
	}
	runtime.KeepAlive(f)
	if err := client.CoreV1().Services("shop").Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	told(t, f, time.Minute, "the Service's end", func(is *inventory.Placement, err error) bool { return err == nil && !is.Found })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	asked := map[string]int{}
	for _, e := range server.Audit() {
		if e.User == "reader" {
			asked[e.Verb+" "+e.Resource]++
		}
	}
	if len(asked) != 2 || asked["watch services"] == 0 || asked["watch endpointslices"] == 0 {
		t.Errorf("got the requests %v, want watches only", asked)
	}
}

// create makes the namespace with the rights of the how-to, the Service that is followed, and
// a hundred others that say much.
func create(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	meta := metav1.ObjectMeta{Name: "reader"}
	must(client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}))
	must(client.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "watch"}},
	}}, metav1.CreateOptions{}))
	must(client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "reader"}},
	}, metav1.CreateOptions{}))
	must(client.CoreV1().Services(namespace).Create(ctx, service(web(), 30080), metav1.CreateOptions{}))
	must(client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, slice(web(), "web-1", "a"), metav1.CreateOptions{}))
	for i := range 100 {
		other := inventory.RemoteService{Namespace: namespace, Name: fmt.Sprint("other-", i)}
		much := map[string]string{"example.com/much": strings.Repeat(fmt.Sprint(i%10), 200_000)}
		s, e := service(other), slice(other, other.Name, "a")
		s.Spec.Type, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeClusterIP, ""
		s.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		s.Annotations, e.Annotations = much, much
		must(client.CoreV1().Services(namespace).Create(ctx, s, metav1.CreateOptions{}))
		must(client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, e, metav1.CreateOptions{}))
	}
}
