package hack_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

const secret = "canary-token-7c1d"

// Ids of the fake IONOS Cloud.
const (
	datacenter = "8feda53f-15f0-447f-badf-ebe32dad2fc0"
	clusterID  = "2b7ca7c7-6c73-4a9c-8d8b-0f7f4b1f5c11"
)

// cloud adds the fake of the IONOS Cloud with three nodes. It also adds the first of
// them to the cluster under a name of its own, because all tests share the cluster.
func (w *world) cloud(t *testing.T) (api *ionostest.API, node string) {
	t.Helper()
	w.service(t, corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}})
	api = ionostest.New(ionostest.Options{Datacenter: datacenter, Cluster: clusterID, LAN: 2})
	api.Populate(3)
	api.Accept("Bearer " + secret)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, " "+secret+" \n")
	for name, value := range map[string]string{
		"IONOS_API_URL": server.URL + "/", "IONOS_TOKEN_FILE": file, "IONOS_CLUSTER_ID": clusterID, "IONOS_DATACENTER_ID": datacenter, "IONOS_PRIVATE_LAN_ID": "2",
		"SECURED_KUBECONFIG": w.cp.Kubeconfig(t), "SECURED_KUBECTL_CONTEXT": "test",
	} {
		w.env[name] = value
	}
	node = w.namespace + "-worker-0"
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: corev1.NodeSpec{ProviderID: "ionos://6F1D2C3B-0000-4000-8000-000000000000"}}
	if _, err := w.client.CoreV1().Nodes().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return api, node
}

// daemon runs the real one until the test ends, and returns when it has published
// the three nodes.
func (w *world) daemon(t *testing.T) {
	t.Helper()
	command := exec.CommandContext(t.Context(), built.Program(t), "run")
	for name, value := range w.env {
		if !strings.HasPrefix(name, "SECURED_KUBE") && !strings.HasPrefix(name, "KUBECTL") && name != "CONTROLLER_BINARY" {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	command.Env = append(command.Env, "SOURCE_KIND=ionos", "STORE_KIND=client-go", "TARGET_PORT=8080", "HEALTH_CHECK_MODE=off",
		"SOURCE_POLL_INTERVAL=1s", "DRAIN_PERIOD=1s", "ADMIN_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0")
	var log strings.Builder
	command.Stdout, command.Stderr = &log, &log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 20 * time.Second
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Wait() // the test's context has ended it
		if t.Failed() {
			t.Logf("log of the daemon:\n%s", log.String())
		}
	})
	for started := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if len(w.published(t)) == 3 {
			return
		}
		if time.Since(started) > waitTimeout {
			t.Fatal("the daemon publishes no three nodes")
		}
	}
}

// published are the ready addresses of the slice.
func (w *world) published(t *testing.T) (found []string) {
	t.Helper()
	list, err := w.client.DiscoveryV1().EndpointSlices(w.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Items {
		for _, endpoint := range s.Endpoints {
			if *endpoint.Conditions.Ready {
				found = append(found, endpoint.Addresses...)
			}
		}
	}
	slices.Sort(found)
	return found
}

// unschedulable reports whether the node is cordoned.
func (w *world) unschedulable(t *testing.T, node string) bool {
	t.Helper()
	object, err := w.client.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object.Spec.Unschedulable
}

func replacesTheNode(t *testing.T, w *world) {
	api, node := w.cloud(t)
	w.daemon(t)
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "arguments")
	path := fake(t, "curl", fmt.Sprintf("printf '%%s\\n' \"$*\" >>%q\nexec %q \"$@\"\n", record, curl)) + ":" + os.Getenv("PATH")
	call := w.script("recreate-ionos-node.sh", "--yes", "--timeout", "60", node)
	call.path = path
	call.run(t).want(0, "cluster: context test, https://", "pool pool-1, with 3 nodes; addresses on LAN 2: 10.0.0.0", "2 other endpoints are ready",
		"new node 6f1d2c3b-0000-4000-8000-000000000003: 10.0.0.3", node+" is replaced").lacks(secret)
	if got, want := w.published(t), []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}; !slices.Equal(got, want) {
		t.Errorf("got ready %v, want %v", got, want)
	}
	if !w.unschedulable(t, node) {
		t.Error("the node was not cordoned")
	}
	arguments := recorded(t, record)
	if !strings.Contains(arguments, "--request DELETE") || strings.Contains(arguments, secret) {
		t.Errorf("got the arguments of curl\n%s\nwant a DELETE, and no token", arguments)
	}

	// The same by the API's own call, with the token in the environment.
	second := w.namespace + "-worker-1"
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: second, Labels: map[string]string{"enterprise.cloud.ionos.com/node-id": "6f1d2c3b-0000-4000-8000-000000000001"}}}
	if _, err := w.client.CoreV1().Nodes().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	call = w.script("recreate-ionos-node.sh", "--recreate", "--yes", "--timeout", "60", second)
	call.with(map[string]string{"IONOS_TOKEN_FILE": "", "IONOS_TOKEN": "Bearer " + secret}).run(t).want(0, second+" is replaced").lacks(secret)
	if got := api.Counts().ByPath["/k8s/"+clusterID+"/nodepools/pool-1/nodes/6f1d2c3b-0000-4000-8000-000000000001/replace"]; got != 1 {
		t.Errorf("got %d orders to recreate, want 1", got)
	}
}

func replacesNothing(t *testing.T, w *world) {
	api, node := w.cloud(t)
	call := func(args ...string) script { return w.script("recreate-ionos-node.sh", append(args, node)...) }
	// No other endpoint would answer.
	call("--yes").run(t).want(1, "no other endpoint is ready", "remedy: ")
	service, err := w.client.CoreV1().Services(w.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := right(service)
	s.Endpoints = s.Endpoints[:1]
	s.Endpoints[0].Addresses[0] = "10.0.0.0"
	made, err := w.client.DiscoveryV1().EndpointSlices(w.namespace).Create(t.Context(), s, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	call("--yes").run(t).want(1, "no other endpoint is ready")
	// With publishNotReadyAddresses each endpoint is written as ready, also one that is down or draining.
	yes, no := true, false
	other := func(conditions discoveryv1.EndpointConditions) {
		made.Endpoints = append(made.Endpoints[:1], discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, Conditions: conditions})
		if made, err = w.client.DiscoveryV1().EndpointSlices(w.namespace).Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	other(discoveryv1.EndpointConditions{Ready: &yes, Serving: &no, Terminating: &no})
	call("--yes").run(t).want(1, "no other endpoint is ready")
	other(discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &yes})
	call("--yes").run(t).want(1, "no other endpoint is ready")
	// The node's own address is no other one, however the API spells it.
	own := right(service)
	own.Name, own.AddressType, own.Endpoints = own.Name+"-ipv6", discoveryv1.AddressTypeIPv6, own.Endpoints[:1]
	own.Endpoints[0].Addresses = []string{"fd00:10::a"}
	if _, err := w.client.DiscoveryV1().EndpointSlices(w.namespace).Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	server := ionostest.Server{ID: "6f1d2c3b-0000-4000-8000-000000000000", Name: "worker-0"}
	server.NICs = []ionostest.NIC{{ID: "0c0c0c0c-0000-4000-8000-000000000000", LAN: 2, IPs: []string{" 10.0.0.0 "}, IPv6s: []string{"FD00:0010:0:0::000A"}}}
	api.SetServers(server)
	call("--yes").run(t).want(1, "no other endpoint is ready")
	// Where the API does not say whose the network cards are, it may be that of any.
	server.NICs[0].ForeignHref = "/datacenters/dc/lans/2/nics/0c0c0c0c-0000-4000-8000-000000000000"
	api.SetServers(server)
	call("--yes").run(t).want(1, "do not say whose they are", "remedy: ")
	server.NICs[0].ForeignHref = ""
	server.NICs[0].IPs[0] = "10.0.0"
	api.SetServers(server)
	call("--yes").run(t).want(1, "'10.0.0' is no IP address", "remedy: ")
	server.NICs[0].IPs[0] = "10.0.0.0"
	api.SetServers(server)
	other(made.Endpoints[0].Conditions)

	call("--dry-run").run(t).want(0, "1 other endpoints are ready", "to do: cordon and drain", "the script changed no object")
	call().run(t).want(1, "there is no terminal; it changed no object", "remedy: --yes")
	path, err := filepath.Abs(filepath.Join(root, "hack", "recreate-ionos-node.sh"))
	if err != nil {
		t.Fatal(err)
	}
	asked := call()
	asked.stdin = "no\n"
	asked.execute(t, "script", "--quiet", "--return", "--command", "bash "+path+" "+node, "/dev/null").want(1, "Type yes to go on", "stopped; the script changed no object")

	for name, test := range map[string]struct{ value, says string }{
		"IONOS_TOKEN":             {"wrong", "refuses the token: status 401"},
		"IONOS_CLUSTER_ID":        {"x", "knows no /k8s/x/nodepools"},
		"IONOS_DATACENTER_ID":     {"x", "knows no /datacenters/x"},
		"IONOS_API_URL":           {"http://127.0.0.1:1", "does not answer"},
		"SECURED_KUBECTL_CONTEXT": {"x", "node " + node + " cannot be read"},
	} {
		call("--yes").with(map[string]string{name: test.value}).run(t).want(1, test.says, "remedy: ").lacks("wrong", secret)
	}
	call("--yes").with(map[string]string{"IONOS_TOKEN": "two\nlines"}).run(t).want(1, "characters that no token has")
	w.script("recreate-ionos-node.sh", "--yes", "no-such-node").run(t).want(1, "node no-such-node cannot be read", "remedy: ")
	for _, kind := range []ionostest.Kind{ionostest.Failed} {
		api.Break(ionostest.Fault{Kind: kind})
		call("--yes").run(t).want(1, "the IONOS API", "remedy: ")
		api.Heal()
	}
	api.SetNodes(ionostest.Node{ID: "another", Name: node})
	call("--yes").run(t).want(1, "no node pool of cluster "+clusterID+" has node "+node, "remedy: ")

	if w.unschedulable(t, node) {
		t.Error("the node was cordoned")
	}
	for path := range api.Counts().ByPath {
		if strings.Contains(path, "/nodes/") {
			t.Errorf("got an order at %s, want none", path)
		}
	}
}

// deletesNoLastNode: the other endpoints went while the node was drained, so it may be the only one that answers.
func deletesNoLastNode(t *testing.T, w *world) {
	api, node := w.cloud(t)
	service, err := w.client.CoreV1().Services(w.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.DiscoveryV1().EndpointSlices(w.namespace).Create(t.Context(), right(service), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	dir := fake(t, "kubectl", fmt.Sprintf(`case " $* " in
  *" drain "*) %[1]q -n %[2]q delete endpointslices web-remote >&2 ;;
esac
exec %[1]q "$@"
`, w.cp.KubectlPath(), w.namespace))
	w.script("recreate-ionos-node.sh", "--yes", "--timeout", "5", node).with(map[string]string{"KUBECTL_PATH": filepath.Join(dir, "kubectl")}).run(t).
		want(1, "1 other endpoints are ready", "no other endpoint is ready any more", "no node was deleted", "remedy: ")
	if !w.unschedulable(t, node) {
		t.Error("the node was not cordoned")
	}
	for path := range api.Counts().ByPath {
		if strings.Contains(path, "/nodes/") {
			t.Errorf("got an order at %s, want none", path)
		}
	}
}
