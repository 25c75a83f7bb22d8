package deploy_test

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	// namespace is that of the how-to pages: their commands run as they are printed.
	namespace  = "backends"
	datacenter = "8feda53f-15f0-447f-badf-ebe32dad2fc0"
	lan        = 2
	token      = "canary-token-7c1d"
	// watcher is the user of kubeconfigs-secret.example.yaml.
	watcher = "endpointslice-inventory"
)

// world is everything around the manifests: the cluster they are applied to, the
// nodes of the remote cluster, the IONOS Cloud API, and backends. One cluster is also
// the remote cluster: the difference does not matter here.
type world struct {
	cp        *controlplane.ControlPlane
	kubelet   kubelet.Kubelet
	client    kubernetes.Interface
	url       string
	addresses []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{Audit: true, ControllerManager: true})
	client, err := kubernetes.NewForConfig(cp.Config())
	must(t, err)
	w := &world{cp: cp, client: client, kubelet: kubelet.Kubelet{Client: client, Server: cp.Address(), Program: built.Program(t)}}
	api := ionostest.New(ionostest.Options{Datacenter: datacenter, LAN: lan})
	api.Accept("Bearer " + token)
	var servers []ionostest.Server
	for i, address := range netns.Addresses(t, 3) {
		listen(t, address)
		id := fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", i)
		servers = append(servers, ionostest.Server{ID: id, Name: fmt.Sprint("worker-", i), NICs: []ionostest.NIC{
			{ID: fmt.Sprintf("0c0c0c0c-0000-4000-8000-%012d", i), LAN: lan, IPs: []string{address.String()}},
		}})
		w.createNode(t, fmt.Sprint("worker-", i), "ionos://"+id)
		w.addresses = append(w.addresses, address.String())
	}
	api.SetServers(servers...)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	w.url = server.URL
	w.createNamespace(t)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listen makes a backend that accepts connections until the test ends.
func listen(t *testing.T, address netip.Addr) {
	t.Helper()
	listener, err := net.Listen("tcp", netip.AddrPortFrom(address, 8080).String())
	must(t, err)
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
func (w *world) createNode(t *testing.T, name, provider string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: provider}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.9.9"}}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	_, err := w.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	must(t, err)
}

// createNamespace makes the namespace, which enforces the Pod Security Standard
// "restricted".
func (w *world) createNamespace(t *testing.T) {
	t.Helper()
	labels := map[string]string{}
	for _, mode := range []string{"enforce", "warn", "audit"} {
		labels["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}}
	_, err := w.client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{})
	must(t, err)
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	must(t, err)
	return path
}

// examples are the manifests of a folder.
func examples(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.example.yaml"))
	must(t, err)
	var names []string
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	if len(names) != 7 {
		t.Fatalf("got %v, want seven manifests", names)
	}
	return names
}

// kubectl runs kubectl as an administrator of the cluster.
func (w *world) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), w.cp.KubectlPath(), args...)
	command.Env = []string{"HOME=" + t.TempDir(), "KUBECONFIG=" + w.cp.Kubeconfig(t)}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// script is a script of hack/ as an administrator of the cluster runs it.
func (w *world) script(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join("../../hack", script), args...)
	command.Env = []string{
		"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + w.cp.Kubeconfig(t),
		"KUBECTL_PATH=" + w.cp.KubectlPath(), "TARGET_NAMESPACE=" + namespace,
	}
	return command
}

// hack runs a script that must succeed.
func (w *world) hack(t *testing.T, script string, args ...string) {
	t.Helper()
	if out, err := w.script(t, script, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", script, strings.Join(args, " "), err, out)
	}
}

// becomeReady makes every Pod ready, as a kubelet does once the probes pass, until
// it is stopped: a rollout goes on only then.
func (w *world) becomeReady(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		pods := w.client.CoreV1().Pods(namespace)
		for ticker := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; <-ticker.C {
			list, err := pods.List(ctx, metav1.ListOptions{})
			if err != nil {
				continue // it was stopped, or the rollout will report it
			}
			for _, pod := range list.Items {
				if len(pod.Status.Conditions) > 0 {
					continue
				}
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
				_, _ = pods.UpdateStatus(ctx, &pod, metav1.UpdateOptions{})
			}
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// replace changes a file as a person does.
func replace(t *testing.T, path, before, after string) {
	t.Helper()
	text := read(t, path)
	if strings.Count(text, before) != 1 {
		t.Fatalf("%s: got %d times %q, want it once", path, strings.Count(text, before), before)
	}
	must(t, os.WriteFile(path, []byte(strings.Replace(text, before, after, 1)), 0o600))
}

// published returns the ready addresses in the slices of the Service.
func (w *world) published(t *testing.T) []string {
	t.Helper()
	list, err := w.client.DiscoveryV1().EndpointSlices(namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: "kubernetes.io/service-name=web",
	})
	must(t, err)
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
