package chart_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// Where the clients of xDS and the backends are.
const (
	shopOfXDS = "xds-shop"
	// edgePort is the listener of the fleet.
	edgePort = 10080
	// xdsPort is that of the Service. The container has another one.
	xdsPort = 19000
)

// xdsInstalled is a release of endpoint-views that serves xDS, at the name and the address
// of its Service.
type xdsInstalled struct {
	*viewsInstalled

	ca *authority
	// notes are what Helm said.
	notes string
	// replicas are the Pods, addresses those that they get when they run.
	replicas  []corev1.Pod
	addresses []netip.Addr
}

// installXDS installs the chart with xDS for one namespace, as its README does, and makes
// the name of its Service lead to its Pods.
func installXDS(t *testing.T, c *cloud) *xdsInstalled {
	t.Helper()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shopOfXDS}}
	if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	x := &xdsInstalled{viewsInstalled: &viewsInstalled{&installation{c, helms[1], "views-xds"}, []string{shopOfXDS}, nil}, ca: newAuthority(t)}
	c.prepare(t, x.namespace)
	server := x.ca.server(t, x.name())
	for name, data := range map[string]map[string]string{"endpoint-views-tls": server, "clients": {"ca.crt": server["ca.crt"]}} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
		if _, err := c.Client.CoreV1().Secrets(x.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	x.notes = c.helm(t, x.version, "install", viewsRelease, viewsDir, "--namespace", x.namespace,
		"--set", "image.tag=0.1.0", "--set", "namespaces={"+shopOfXDS+"}", "--set", "tls.secretName=endpoint-views-tls,tls.clientCA.secretName=clients",
		"--set-json", `clients=[{"name":"`+shopOfXDS+`/caller","namespaces":["`+shopOfXDS+`"]}]`,
		"--set", fmt.Sprintf("xds.enabled=true,service.xdsPort=%d", xdsPort), "--set-json", fmt.Sprintf(`xds.fleets=[{"name":"%s/edge","listeners":[{"port":%d,"service":"web"}]}]`, shopOfXDS, edgePort),
		"--set-json", `networkPolicy.xdsFrom=[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"`+shopOfXDS+`"}}}]`)
	x.replicas, x.addresses = x.pods(t), netns.Addresses(t, 2)
	x.carry(t)
	return x
}

// name is that of the Service, for which the certificate has to be.
func (x *xdsInstalled) name() string { return viewsRelease + "." + x.namespace + ".svc" }

// tls is what a client with a certificate of this name shows.
func (x *xdsInstalled) tls(t *testing.T, name string) *tls.Config {
	t.Helper()
	files := x.ca.client(t, "spiffe://cluster.local/ns/"+shopOfXDS+"/"+name)
	certificate, err := tls.X509KeyPair([]byte(files["tls.crt"]), []byte(files["tls.key"]))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(files["ca.crt"]))
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{certificate}}
}

// printed is the command that the notes print for a bootstrap, and the server that it names.
func (x *xdsInstalled) printed(t *testing.T) (command []string, server string) {
	t.Helper()
	found := regexp.MustCompile(`endpoint-views (bootstrap \S+ --server (\S+)) --certificates /tls --out /etc/envoy`).FindStringSubmatch(x.notes)
	if found == nil {
		t.Fatalf("NOTES: got no command for a bootstrap in\n%s", x.notes)
	}
	return strings.Fields(found[1]), found[2]
}

// bootstrap carries out that command for an Envoy with a certificate of the fleet, and
// returns what it has to start from.
func (x *xdsInstalled) bootstrap(t *testing.T) string {
	t.Helper()
	command, _ := x.printed(t)
	certificates, out := folder(t, x.ca.client(t, "spiffe://cluster.local/ns/"+shopOfXDS+"/envoy/edge")), filepath.Join(t.TempDir(), "envoy")
	if got := run(t, nil, built.Views(t), append(command, "--certificates", certificates, "--out", out, "--node", "edge-1")...); got.failed {
		t.Fatal(got.stderr)
	}
	text, err := os.ReadFile(filepath.Join(out, "envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// carry makes the name of the Service lead to its ClusterIP, and carries connections from
// its ports to its ready endpoints, as DNS and kube-proxy do.
func (x *xdsInstalled) carry(t *testing.T) {
	t.Helper()
	service, err := x.Client.CoreV1().Services(x.namespace).Get(t.Context(), viewsRelease, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddr(service.Spec.ClusterIP)
	netns.AddAddress(t, address)
	netns.Hosts(t, map[string]netip.Addr{x.name(): address})
	for _, port := range service.Spec.Ports {
		listener, err := net.Listen("tcp", netip.AddrPortFrom(address, uint16(port.Port)).String())
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() {
			for {
				from, err := listener.Accept()
				if err != nil {
					return
				}
				running.Go(func() { x.pass(from, port.Name) })
			}
		})
		t.Cleanup(func() { _ = listener.Close() })
	}
}

// pass carries a connection to a ready endpoint of a port, until one side ends it.
func (x *xdsInstalled) pass(from net.Conn, port string) {
	defer from.Close()
	to := x.ready(port)
	if len(to) == 0 {
		return
	}
	there, err := net.Dial("tcp", to[0])
	if err != nil {
		return
	}
	defer there.Close()
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(from, there); _ = from.Close() })
	_, _ = io.Copy(there, from)
	_ = there.Close()
	back.Wait()
}

// ready are the endpoints of a port of the Service that slices say are ready.
func (x *xdsInstalled) ready(port string) []string {
	all, err := x.Client.DiscoveryV1().EndpointSlices(x.namespace).List(context.Background(), metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + viewsRelease,
	})
	if err != nil {
		return nil
	}
	var found []string
	for _, slice := range all.Items {
		at := slices.IndexFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return *p.Name == port })
		if at < 0 {
			continue
		}
		for _, e := range slice.Endpoints {
			if *e.Conditions.Ready {
				found = append(found, net.JoinHostPort(e.Addresses[0], fmt.Sprint(*slice.Ports[at].Port)))
			}
		}
	}
	return found
}

// serve runs a replica with exactly what its Pod has, and says so at the API server as a
// kubelet does. It returns when the Service leads to it.
func (x *xdsInstalled) serve(t *testing.T, n int) *kubelet.Process {
	t.Helper()
	pod, address, pods := x.replicas[n], x.addresses[n].String(), x.Client.CoreV1().Pods(x.namespace)
	bind := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "worker-0"}}
	if err := pods.Bind(t.Context(), bind, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	x.said(t, &pod, func(s *corev1.PodStatus) {
		s.Phase, s.PodIP, s.PodIPs = corev1.PodRunning, address, []corev1.PodIP{{IP: address}}
	})
	running := x.Kubelet
	running.Program = built.Views(t)
	process := running.Start(t, &pod, nil)
	probe := pod.Spec.Containers[0].ReadinessProbe.HTTPGet
	stage.Until(t, "the replica is ready", func() bool {
		return kubelet.Probe(fmt.Sprintf("http://%s:%d%s", address, portOf(&pod, probe.Port.StrVal), probe.Path))
	})
	x.said(t, &pod, func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
	stage.Until(t, "the Service leads to the replica", func() bool {
		return slices.Contains(x.ready("xds"), fmt.Sprintf("%s:%d", address, portOf(&pod, "xds")))
	})
	return process
}

// ends stops a replica: first no new connection comes to it.
func (x *xdsInstalled) ends(t *testing.T, n int, process *kubelet.Process) {
	t.Helper()
	x.said(t, &x.replicas[n], func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	})
	stage.Until(t, "the Service does not lead to the replica", func() bool { return len(x.ready("xds")) == 0 })
	process.Stop(t)
}

// said changes the status of a Pod.
func (x *xdsInstalled) said(t *testing.T, pod *corev1.Pod, change func(*corev1.PodStatus)) {
	t.Helper()
	pods := x.Client.CoreV1().Pods(x.namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&now.Status)
		_, err = pods.UpdateStatus(t.Context(), now, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// portOf is the number of a port of the container.
func portOf(pod *corev1.Pod, name string) int32 {
	for _, port := range pod.Spec.Containers[0].Ports {
		if port.Name == name {
			return port.ContainerPort
		}
	}
	return 0
}

// shows makes a Service that is shown, with one port and the slice of its endpoints.
func (x *xdsInstalled) shows(t *testing.T, name string, addresses ...netip.AddrPort) {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"endpoints.ablmnzde.github.io/views": "true"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "main", Port: 80}}},
	}
	if _, err := x.Client.CoreV1().Services(shopOfXDS).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Client.DiscoveryV1().EndpointSlices(shopOfXDS).Create(t.Context(), sliceOf(name, addresses...), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// moves makes other endpoints those of a Service.
func (x *xdsInstalled) moves(t *testing.T, name string, addresses ...netip.AddrPort) {
	t.Helper()
	if _, err := x.Client.DiscoveryV1().EndpointSlices(shopOfXDS).Update(t.Context(), sliceOf(name, addresses...), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// sliceOf is a slice of ready endpoints, which have one port.
func sliceOf(service string, addresses ...netip.AddrPort) *discoveryv1.EndpointSlice {
	name, port := "main", int32(addresses[0].Port())
	made := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
	for _, address := range addresses {
		made.Endpoints = append(made.Endpoints, discoveryv1.Endpoint{Addresses: []string{address.Addr().String()}})
	}
	return made
}
