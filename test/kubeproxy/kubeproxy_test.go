package kubeproxy_test

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubeproxy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

func TestMain(m *testing.M) {
	netns.EnterNamed()
	os.Exit(m.Run())
}

// outside is the address of the API server and of the backend, inside that of
// the namespace.
var (
	outside  = netip.MustParseAddr("10.1.0.1")
	inside   = netip.MustParseAddr("10.1.0.2")
	outside6 = netip.MustParseAddr("fd01::1")
	inside6  = netip.MustParseAddr("fd01::2")
)

const answer = "a backend"

func TestClusterIPCarriesTrafficToTheSlice(t *testing.T) {
	netns.Require(t)
	const namespace = "client"
	connect(t, namespace)
	cp := controlplane.Start(t, controlplane.Options{BindAddress: outside})
	targets := []string{
		publish(t, cp, corev1.IPv4Protocol, serve(t, outside)),
		publish(t, cp, corev1.IPv6Protocol, serve(t, outside6)),
	}
	for _, mode := range []kubeproxy.Mode{kubeproxy.NFTables, kubeproxy.IPTables} {
		t.Run(string(mode), func(t *testing.T) {
			kubeproxy.Start(t, cp, kubeproxy.Options{
				Namespace: namespace, Node: string(mode), Addresses: []netip.Addr{inside, inside6}, Mode: mode, MinSyncPeriod: 100 * time.Millisecond,
			})
			for _, target := range targets {
				ask(t, namespace, target)
			}
		})
		ip(t, "netns", "exec", namespace, "nft", "flush", "ruleset")
	}
}

// connect makes the namespace and a link to it.
func connect(t *testing.T, namespace string) {
	t.Helper()
	netns.Add(t, namespace)
	ip(t, "link", "add", "outside", "type", "veth", "peer", "name", "inside", "netns", namespace)
	ip(t, "link", "set", "outside", "up")
	ip(t, "-n", namespace, "link", "set", "inside", "up")
	ip(t, "address", "add", outside.String()+"/24", "dev", "outside")
	ip(t, "address", "add", outside6.String()+"/64", "dev", "outside", "nodad")
	ip(t, "-n", namespace, "address", "add", inside.String()+"/24", "dev", "inside")
	ip(t, "-n", namespace, "address", "add", inside6.String()+"/64", "dev", "inside", "nodad")
	ip(t, "-n", namespace, "route", "add", "default", "via", outside.String())
	ip(t, "-n", namespace, "-6", "route", "add", "default", "via", outside6.String())
}

// serve runs a backend.
func serve(t *testing.T, address netip.Addr) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return netip.AddrPortFrom(address, uint16(listener.Addr().(*net.TCPAddr).Port))
}

// publish makes a Service without a selector with a slice that lists the
// backend, and returns where the Service answers.
func publish(t *testing.T, cp *controlplane.ControlPlane, family corev1.IPFamily, backend netip.AddrPort) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(string(family))
	service, err := client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{family}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.DiscoveryV1().EndpointSlices("default").Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressType(family),
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To(""), Port: ptr.To(int32(backend.Port()))}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{backend.Addr().String()}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(service.Spec.ClusterIP, "80")
}

// ask connects from the namespace until the backend answers. kube-proxy goes on to write
// rules: one whose endpoint is not there yet refuses.
func ask(t *testing.T, namespace, target string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; <-time.After(100 * time.Millisecond) {
		got, err := exec.Command("ip", "netns", "exec", namespace, "curl", "--silent", "--show-error", "--max-time", "10", "http://"+target).CombinedOutput()
		if err == nil && string(got) == answer {
			return
		}
		if time.Now().After(end) {
			t.Errorf("http://%s: got %q, %v, want %q", target, got, err, answer)
			return
		}
	}
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	output, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, output)
	}
}
