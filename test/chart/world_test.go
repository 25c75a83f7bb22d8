package chart_test

import (
	"fmt"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

const (
	// waitTimeout bounds every wait of a test; none is expected to take so long.
	waitTimeout = 90 * time.Second
	// What the README's command names.
	datacenter = "8feda53f-15f0-447f-badf-ebe32dad2fc0"
	lan        = 2
	token      = "canary-token-7c1d"
)

// cloud is everything around the cluster that the chart is installed to: the nodes of
// the remote cluster, the IONOS Cloud API, and backends. One cluster is
// also the remote cluster: the difference does not matter here.
type cloud struct {
	cp         *controlplane.ControlPlane
	kubelet    kubelet.Kubelet
	client     kubernetes.Interface
	url        string
	kubeconfig string
	addresses  []string
}

func newCloud(t *testing.T, cp *controlplane.ControlPlane) *cloud {
	t.Helper()
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{cp: cp, client: client, kubelet: kubelet.Kubelet{Client: client, Server: cp.Address(), Program: built.Program(t)}}
	api := ionostest.New(ionostest.Options{Datacenter: datacenter, LAN: lan})
	api.Accept("Bearer " + token)
	var servers []ionostest.Server
	for i, address := range netns.Addresses(t, 3) {
		listen(t, address)
		id := fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", i)
		servers = append(servers, ionostest.Server{ID: id, Name: fmt.Sprint("worker-", i), NICs: []ionostest.NIC{
			{ID: fmt.Sprintf("0c0c0c0c-0000-4000-8000-%012d", i), LAN: lan, IPs: []string{address.String()}},
		}})
		c.createNode(t, fmt.Sprint("worker-", i), "ionos://"+id)
		c.addresses = append(c.addresses, address.String())
	}
	api.SetServers(servers...)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	c.url = server.URL
	c.kubeconfig = c.watcher(t)
	return c
}

// listen makes a backend that accepts connections until the test ends.
func listen(t *testing.T, address netip.Addr) {
	t.Helper()
	listener, err := net.Listen("tcp", netip.AddrPortFrom(address, 8080).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.Close()
		}
	}()
}

// createNode makes a ready Node whose own address is not that of the LAN.
func (c *cloud) createNode(t *testing.T, name, provider string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: provider}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.9.9"}}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	if _, err := c.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// watcher is the kubeconfig of a user with the right to watch the nodes.
func (c *cloud) watcher(t *testing.T) string {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "watcher"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
	}}
	if _, err := c.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: meta.Name, APIGroup: rbacv1.GroupName}},
	}
	if _, err := c.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.cp.UserKubeconfig(t, meta.Name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// prepare makes a namespace that enforces the Pod Security Standard "restricted",
// with the objects that the chart needs beside it.
func (c *cloud) prepare(t *testing.T, namespace string) {
	t.Helper()
	core := c.client.CoreV1()
	labels := map[string]string{}
	for _, mode := range []string{"enforce", "warn", "audit"} {
		labels["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}}
	if _, err := core.Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]map[string]string{
		"ionos-token": {"token": token + "\n"}, "kubeconfigs": {"secured": c.kubeconfig},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
		if _, err := core.Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
	if _, err := core.Services(namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// published returns the ready addresses in the first slice.
func (c *cloud) published(t *testing.T, namespace string) []string {
	t.Helper()
	list, err := c.client.DiscoveryV1().EndpointSlices(namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=web",
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
				found = append(found, endpoint.Addresses...)
			}
		}
	}
	slices.Sort(found)
	return found
}

// start runs the daemon of a Pod until the test ends. Two Pods on this one machine
// cannot have the same ports: the second takes others. It returns the address of
// the probes.
func (c *cloud) start(t *testing.T, pod *corev1.Pod, second bool) (process *kubelet.Process, probes string) {
	t.Helper()
	changes, port := map[string]string{"IONOS_API_URL": c.url}, "8081"
	if second {
		port = "8091"
		changes["METRICS_ADDRESS"], changes["ADMIN_ADDRESS"] = "0.0.0.0:8091", "127.0.0.1:8090"
	}
	return c.kubelet.Start(t, pod, changes), "http://127.0.0.1:" + port
}

// token asks for a token of the Pod's ServiceAccount.
func (c *cloud) token(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	answer, err := c.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(waitTimeout)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("waited %v for %s", waitTimeout, what)
		case <-ticker.C:
		}
	}
}

// helm runs Helm as an administrator of the cluster.
func (c *cloud) helm(t *testing.T, version string, args ...string) string {
	t.Helper()
	got := helm(t, version, append(args, "--kubeconfig", c.cp.Kubeconfig(t))...)
	if got.failed {
		t.Fatalf("%s %s: %s", version, strings.Join(args, " "), got.stderr)
	}
	return got.stdout + got.stderr
}
