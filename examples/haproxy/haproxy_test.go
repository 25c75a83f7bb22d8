package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

func TestMain(m *testing.M) {
	netns.Enter()
	built.Main(m)
}

// TestHAProxy is a life of a Service behind a real HAProxy: a real API server, the
// built endpoint-views, and the example. Requests are sent all the time, and each is
// answered.
func TestHAProxy(t *testing.T) {
	netns.Require(t)
	api := controlplane.Start(t, controlplane.Options{})
	w := newWorld(t, api)
	addresses := netns.Addresses(t, 4)
	for _, address := range addresses {
		w.backend(t, address)
	}
	a, b, c, d := addresses[0].String(), addresses[1].String(), addresses[2].String(), addresses[3].String()
	service := newService(t, api)
	service.write(t, discoveryv1.EndpointSlice{}, a, b)
	w.proxy(t)
	source := w.views(t, "127.0.0.1:0")
	agent := w.agent(t)
	w.until(t, "both endpoints answer", func() bool { return w.answering(t) == a+" "+b })
	load := w.load(t)

	service.write(t, discoveryv1.EndpointSlice{}, a, b, c)
	w.until(t, "the endpoint that joined answers", func() bool { return w.answering(t) == a+" "+b+" "+c })

	// The endpoint leaves with a request under way.
	slow := w.hold(t, c)
	service.write(t, draining(c), a, b)
	w.until(t, "the endpoint that drains gets no new requests", func() bool { return w.state(t, c) == drain && w.answering(t) == a+" "+b })
	service.write(t, discoveryv1.EndpointSlice{}, a, b)
	w.until(t, "the server of the endpoint that is gone waits for its request", func() bool { return w.state(t, c) == maint })
	if got := slow.finish(); got != c {
		t.Errorf("got %q for the request under way at the endpoint that drained, want %s", got, c)
	}
	w.until(t, "the server is deleted", func() bool { return w.state(t, c) == "" })

	// While endpoint-views is down nothing changes. After its restart the proxy catches up.
	w.stop(t, source, syscall.SIGKILL)
	service.write(t, discoveryv1.EndpointSlice{}, a, d)
	w.unchanged(t, a+" "+b)
	source = w.views(t, source.address)
	w.until(t, "what happened meanwhile is made up for", func() bool { return w.answering(t) == a+" "+d })

	// An example that starts again changes nothing before it knows everything.
	w.stop(t, source, syscall.SIGKILL)
	w.stop(t, agent, syscall.SIGTERM)
	service.write(t, discoveryv1.EndpointSlice{}, a, b)
	agent = w.agent(t)
	w.until(t, "the example has asked several times in vain", func() bool {
		log, err := os.ReadFile(agent.log)
		return err == nil && strings.Count(string(log), untouched) >= 4
	})
	w.unchanged(t, a+" "+d)
	source = w.views(t, source.address)
	w.until(t, "it goes on with what HAProxy has", func() bool { return w.answering(t) == a+" "+b })

	if sent, failed := load.end(); sent == 0 || len(failed) > 0 {
		t.Errorf("got %d of %d requests that failed, want none: %s", len(failed), sent, strings.Join(failed[:min(3, len(failed))], "; "))
	}
	w.restartProxy(t)
	w.until(t, "HAProxy is filled again after it started anew", func() bool { return w.answering(t) == a+" "+b })
	if got := w.state(t, "fallback"); got != maint {
		t.Errorf("got state %q of the server that is not ours, want the one of the configuration", got)
	}

	// The last endpoints go while the example is away.
	w.stop(t, agent, syscall.SIGTERM)
	service.write(t, discoveryv1.EndpointSlice{})
	agent = w.agent(t)
	w.until(t, "the servers of a port without endpoints are deleted", func() bool { return w.state(t, a)+w.state(t, b) == "" })
	w.stop(t, agent, syscall.SIGTERM)
	w.stop(t, source, syscall.SIGTERM)
}

// service is the Service and its only slice.
type service struct {
	client *kubernetes.Clientset
	exists bool
}

const namespace = "default"

func newService(t *testing.T, api *controlplane.ControlPlane) *service {
	t.Helper()
	client, err := kubernetes.NewForConfig(api.Config())
	if err != nil {
		t.Fatal(err)
	}
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"endpoints.ablmnzde.github.io/views": "true"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	if _, err := client.CoreV1().Services(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return &service{client: client}
}

// write makes the slice hold its endpoints and ready ones with these addresses.
func (s *service) write(t *testing.T, slice discoveryv1.EndpointSlice, addresses ...string) {
	t.Helper()
	slice.ObjectMeta = metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}
	slice.AddressType = discoveryv1.AddressTypeIPv4
	slice.Ports = []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(backendPort))}}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
	}
	client := s.client.DiscoveryV1().EndpointSlices(namespace)
	var err error
	if s.exists {
		_, err = client.Update(t.Context(), &slice, metav1.UpdateOptions{})
	} else {
		_, err = client.Create(t.Context(), &slice, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.exists = true
}

// draining is a slice with an endpoint that shuts down and still answers.
func draining(address string) discoveryv1.EndpointSlice {
	return discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)},
	}}}
}

// answering are the endpoints that answer, as many requests as it takes to see each.
func (w *world) answering(t *testing.T) string {
	t.Helper()
	seen := map[string]bool{}
	for range 12 {
		if from, err := w.get("/"); err == nil {
			seen[from] = true
		}
	}
	var all []string
	for from := range seen {
		all = append(all, from)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// unchanged looks several times at what must not change.
func (w *world) unchanged(t *testing.T, want string) {
	t.Helper()
	for range 10 {
		if got := w.answering(t); got != want {
			t.Fatalf("got answers of %q, want %q as before", got, want)
		}
	}
}

// state is that of the server of an endpoint, or of one with that name.
func (w *world) state(t *testing.T, name string) string {
	t.Helper()
	servers, err := socket{w.socket}.servers(t.Context(), "web")
	if err != nil {
		return fmt.Sprint(err)
	}
	if one, known := servers[name]; known {
		return one.state
	}
	return servers[fmt.Sprintf("%s%s_%d", ours, name, backendPort)].state
}

// configuration is that of the README, with the test's addresses and one server that
// the example does not manage.
func (w *world) configuration(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.NewReplacer("/run/haproxy/admin.sock", w.socket, "bind :8080", "bind 127.0.0.1:"+proxyPort).Replace(string(text))
	return []byte(said + "  server fallback 127.0.0.1:1 disabled\n")
}
