package views_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/poll"
)

// waitLimit bounds every wait; a machine that tests much else is slow.
const waitLimit = time.Minute

func TestMain(m *testing.M) { built.Main(m) }

// daemon is a running endpoint-views serve.
type daemon struct {
	url, health string
	process     *os.Process
	log         *lockedBuffer
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// serve starts the program until the test ends.
func serve(t *testing.T, kubeconfig string, environ ...string) *daemon {
	t.Helper()
	d := &daemon{log: &lockedBuffer{}}
	cmd := exec.CommandContext(t.Context(), built.Views(t), "serve")
	cmd.Env = append([]string{"KUBECONFIG=" + kubeconfig, "VIEWS_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0", "LOG_LEVEL=debug"}, environ...)
	cmd.Stderr = d.log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.process = cmd.Process
	t.Cleanup(func() {
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("endpoint-views: %v\n%s", err, d.log)
		}
	})
	until(t, "the program listens", func() bool { return d.addresses() })
	return d
}

// addresses finds in the log where the program listens.
func (d *daemon) addresses() bool {
	for line := range strings.SplitSeq(d.log.String(), "\n") {
		var said struct {
			Msg     string `json:"msg"`
			Views   string `json:"views_address"`
			Metrics string `json:"metrics_address"`
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "starting" {
			d.url, d.health = "http://"+said.Views, "http://"+said.Metrics
			return true
		}
	}
	return false
}

// ready waits for the first join.
func (d *daemon) ready(t *testing.T) *daemon {
	t.Helper()
	until(t, "the program is ready", func() bool { return status(t, d.health+"/readyz") == http.StatusOK })
	return d
}

func status(t *testing.T, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	poll.Until(t, waitLimit, holds, func() string { return what })
}

// event is one line of a stream.
type event struct {
	Type   views.EventType    `json:"type"`
	Object views.EndpointView `json:"object"`
}

// follow reads a stream, bookmarks apart, until the test ends.
func follow(t *testing.T, url string) <-chan event {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s", url, response.Status)
	}
	events := make(chan event, 100)
	var reading sync.WaitGroup
	t.Cleanup(reading.Wait)
	reading.Go(func() {
		defer response.Body.Close()
		defer close(events)
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			var e event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Errorf("%s: %v", lines.Bytes(), err)
				return
			}
			if e.Type != views.Bookmark {
				events <- e
			}
		}
	})
	return events
}

// expect takes events and returns their names in order of arrival. There must be
// exactly so many, all of one type.
func expect(t *testing.T, events <-chan event, kind views.EventType, count int) []string {
	t.Helper()
	var names []string
	for range count {
		select {
		case e := <-events:
			if e.Type != kind {
				t.Fatalf("got %s of %s, want %s", e.Type, e.Object.Metadata.Name, kind)
			}
			names = append(names, e.Object.Metadata.Name)
		case <-time.After(waitLimit):
			t.Fatalf("got %d events of type %s (%v), want %d", len(names), kind, names, count)
		}
	}
	return names
}

func client(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	made, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// createService makes the Service of the walk-through, with two ports.
func createService(t *testing.T, c *kubernetes.Clientset, namespace, name string, annotations map[string]string) {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "https", Port: 443}}},
	}
	if _, err := c.CoreV1().Services(namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// slice is one with the two ports and these addresses.
func slice(name, service string, addresses ...string) *discoveryv1.EndpointSlice {
	one := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}, {Name: ptr.To("https"), Port: ptr.To(int32(8443))}},
	}
	for _, address := range addresses {
		one.Endpoints = append(one.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
	}
	return one
}

func create(t *testing.T, c *kubernetes.Clientset, namespace string, one *discoveryv1.EndpointSlice) {
	t.Helper()
	if _, err := c.DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), one, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func update(t *testing.T, c *kubernetes.Clientset, namespace string, one *discoveryv1.EndpointSlice) {
	t.Helper()
	if _, err := c.DiscoveryV1().EndpointSlices(namespace).Update(t.Context(), one, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func createNamespace(t *testing.T, c *kubernetes.Clientset, name string) {
	t.Helper()
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
