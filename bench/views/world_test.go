package views_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

const (
	// longest bounds every wait.
	longest   = 3 * time.Minute
	namespace = "default"
	service   = "web"
	// perSlice is what kube-controller-manager puts into a slice by default.
	perSlice = 100
	// writers write at the same time in a burst.
	writers = 4
)

// world is a Service on an API server, and both programs that report its endpoints.
type world struct {
	form                form
	api                 *controlplane.ControlPlane
	client              kubernetes.Interface
	slices              []*discoveryv1.EndpointSlice
	viewsPath, barePath string

	views, bare program
	// url is where the views are, told what the bare informer prints.
	url  string
	told *reader
}

func newWorld(t *testing.T, f form) *world {
	t.Helper()
	w := &world{form: f, viewsPath: build(t, "../..", "./cmd/endpoint-views"), barePath: build(t, "..", "./informer")}
	w.api = controlplane.Start(t, controlplane.Options{Audit: true})
	config := w.api.Config()
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	var err error
	if w.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: service, Annotations: map[string]string{"endpoints.ablmnzde.github.io/views": "true"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	if _, err := w.client.CoreV1().Services(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// grow brings the Service to n endpoints.
func (w *world) grow(t *testing.T, n int) {
	t.Helper()
	for i := len(w.slices); i < n/perSlice; i++ {
		name, number, protocol := "http", int32(8080), corev1.ProtocolTCP
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: fmt.Sprintf("web-%03d", i), Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &number, Protocol: &protocol}},
		}
		for k := range perSlice {
			ready, node, zone := true, fmt.Sprintf("worker-%03d", k%50), fmt.Sprintf("zone-%d", k%3)
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{fmt.Sprintf("10.64.%d.%d", i, k)}, Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready},
				NodeName: &node, Zone: &zone, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: fmt.Sprintf("web-%d-%d", i, k)},
			})
		}
		made, err := w.client.DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), slice, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.slices = append(w.slices, made)
	}
}

// flip changes the state of some endpoints of a slice, and writes it.
func (w *world) flip(t *testing.T, slice int, endpoints ...int) {
	t.Helper()
	for _, k := range endpoints {
		c := &w.slices[slice].Endpoints[k].Conditions
		ready := !*c.Ready
		c.Ready, c.Serving = &ready, &ready
	}
	made, err := w.client.DiscoveryV1().EndpointSlices(namespace).Update(t.Context(), w.slices[slice], metav1.UpdateOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	w.slices[slice] = made
}

// flipAll changes every endpoint, by a few writers at a time.
func (w *world) flipAll(t *testing.T) {
	t.Helper()
	all := make([]int, perSlice)
	for k := range all {
		all[k] = k
	}
	var writing sync.WaitGroup
	for first := range writers {
		writing.Go(func() {
			for i := first; i < len(w.slices); i += writers {
				w.flip(t, i, all...)
			}
		})
	}
	writing.Wait()
}

// run starts both programs, and returns when both have reported everything.
func (w *world) run(t *testing.T) {
	t.Helper()
	n := len(w.slices) * perSlice
	bare := exec.Command(w.barePath, "-kubeconfig", w.api.UserKubeconfig(t, "bare", "system:masters"), "-service", service)
	bare.Stderr = os.Stderr
	out, err := bare.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.bare = start(t, bare)
	w.told = read(out)
	await(t, []*reader{w.told}, int64(n))

	serve := exec.Command(w.viewsPath, "serve")
	serve.Env = []string{"KUBECONFIG=" + w.api.UserKubeconfig(t, "views", "system:masters"), "VIEWS_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0",
		"VIEWS_MAX_CLIENTS=1000", "VIEWS_MAX_CLIENTS_PER_IDENTITY=1000"}
	log, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.views = start(t, serve)
	w.url = ready(t, log, n)
}

// ready reads the log until the program has joined everything, and the rest beside.
func ready(t *testing.T, log io.Reader, n int) (url string) {
	t.Helper()
	in := bufio.NewScanner(log)
	for in.Scan() {
		line := in.Text()
		if _, rest, found := strings.Cut(line, `"views_address":"`); found {
			address, _, _ := strings.Cut(rest, `"`)
			url = "http://" + address
		}
		if strings.Contains(line, `"endpoints":`+strconv.Itoa(n)) {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return url
		}
	}
	t.Fatalf("endpoint-views ended before it told of %d endpoints", n)
	return ""
}
