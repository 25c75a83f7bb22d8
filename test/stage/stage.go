// Package stage is everything around the cluster that the daemon is installed to, for
// the tests of the chart and of the manifests: the nodes of the remote cluster, the
// IONOS Cloud API, and backends. One cluster is also the remote cluster: the difference
// does not matter here.
package stage

import (
	"fmt"
	"net"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/poll"
)

const (
	// WaitTimeout bounds every wait of a test; none is expected to take so long.
	WaitTimeout = 90 * time.Second
	// Datacenter is the one that the commands of the pages name.
	Datacenter = "8feda53f-15f0-447f-badf-ebe32dad2fc0"
	// LAN is the one that the commands of the pages name.
	LAN = 2
	// Token is what the IONOS Cloud API accepts.
	Token = "canary-token-7c1d"
)

// Stage has three nodes with a backend each.
type Stage struct {
	CP      *controlplane.ControlPlane
	Kubelet kubelet.Kubelet
	Client  kubernetes.Interface
	// URL is the IONOS Cloud API's, Addresses are those of the backends.
	URL       string
	Addresses []string
}

// New builds all of it until the test ends.
func New(t *testing.T, cp *controlplane.ControlPlane) *Stage {
	t.Helper()
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := &Stage{CP: cp, Client: client, Kubelet: kubelet.Kubelet{Client: client, Server: cp.Address(), Program: built.Program(t)}}
	api := ionostest.New(ionostest.Options{Datacenter: Datacenter, LAN: LAN})
	api.Accept("Bearer " + Token)
	var servers []ionostest.Server
	for i, address := range netns.Addresses(t, 3) {
		Listen(t, address)
		id := fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", i)
		servers = append(servers, ionostest.Server{ID: id, Name: fmt.Sprint("worker-", i), NICs: []ionostest.NIC{
			{ID: fmt.Sprintf("0c0c0c0c-0000-4000-8000-%012d", i), LAN: LAN, IPs: []string{address.String()}},
		}})
		s.node(t, fmt.Sprint("worker-", i), "ionos://"+id)
		s.Addresses = append(s.Addresses, address.String())
	}
	api.SetServers(servers...)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Listen makes a backend that accepts connections until the test ends.
func Listen(t *testing.T, address netip.Addr) {
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

// node makes a ready Node whose own address is not that of the LAN.
func (s *Stage) node(t *testing.T, name, provider string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: provider}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.9.9"}}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	if _, err := s.Client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Namespace makes a namespace that enforces the Pod Security Standard "restricted".
func (s *Stage) Namespace(t *testing.T, name string) {
	t.Helper()
	labels := map[string]string{}
	for _, mode := range []string{"enforce", "warn", "audit"} {
		labels["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if _, err := s.Client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Published returns the ready addresses in the slices of the Service web.
func (s *Stage) Published(t *testing.T, namespace string) []string {
	t.Helper()
	list, err := s.Client.DiscoveryV1().EndpointSlices(namespace).List(t.Context(), metav1.ListOptions{
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

// Until waits for a condition.
func Until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	poll.Until(t, WaitTimeout, condition, func() string { return what })
}

// One returns the only object of a type.
func One[T, O any](t *testing.T, objects []O) T {
	t.Helper()
	var found []T
	for _, object := range objects {
		if typed, ok := any(object).(T); ok {
			found = append(found, typed)
		}
	}
	if len(found) != 1 {
		t.Fatalf("got %d objects of type %T, want 1", len(found), *new(T))
	}
	return found[0]
}
