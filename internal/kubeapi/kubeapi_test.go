package kubeapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
)

// server answers with a lease, or with the status it is told, and remembers who
// asked for what.
type server struct {
	*httptest.Server
	status int

	mu       sync.Mutex
	requests []string
	remotes  map[string]bool
}

func newServer(t *testing.T, status int) *server {
	s := &server{status: status, remotes: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path+" "+r.UserAgent())
		s.remotes[r.RemoteAddr] = true
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(s.status)
		_, _ = w.Write([]byte(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"}}`))
	}))
	t.Cleanup(s.Close)
	return s
}

func leases(t *testing.T, url string, timeout time.Duration) *kubeapi.Client {
	t.Helper()
	client, err := kubeapi.New(&rest.Config{Host: url}, kubeapi.Options{
		UserAgent: "tester", Version: coordinationv1.SchemeGroupVersion, Timeout: timeout,
		Types: []runtime.Object{&coordinationv1.Lease{}, &coordinationv1.LeaseList{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestClientSpeaksOfItsTypes(t *testing.T) {
	s := newServer(t, http.StatusOK)
	var got coordinationv1.Lease
	request := leases(t, s.URL, 0).Get().Namespace("n").Resource("leases").Name("a")
	if err := request.Do(t.Context()).Into(&got); err != nil || got.Name != "a" {
		t.Errorf("got %q, %v, want the lease", got.Name, err)
	}
	want := "GET /apis/coordination.k8s.io/v1/namespaces/n/leases/a tester"
	if len(s.requests) != 1 || s.requests[0] != want {
		t.Errorf("got %q, want %q", s.requests, want)
	}
}

func TestClientSendsEachRequestOnce(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		s := newServer(t, status)
		c := leases(t, s.URL, 0)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		for name, request := range map[string]*rest.Request{
			"get": c.Get(), "post": c.Post().Body(lease), "put": c.Put().Body(lease), "verb": c.Verb("GET"),
			"delete": c.Delete(), "patch": c.Patch("application/merge-patch+json").Body([]byte("{}")),
		} {
			s.requests = nil
			err := request.Namespace("n").Resource("leases").Name("a").Do(t.Context()).Error()
			if err == nil || len(s.requests) != 1 {
				t.Errorf("%s, answered %d: got %d requests and %v, want one and an error", name, status, len(s.requests), err)
			}
		}
	}
}

func TestClientsShareNoConnection(t *testing.T) {
	s := newServer(t, http.StatusOK)
	get := func(c *kubeapi.Client) {
		t.Helper()
		if err := c.Get().AbsPath("/").Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	first, second := leases(t, s.URL, 0), leases(t, s.URL, 0)
	get(first)
	get(first)
	if got := len(s.remotes); got != 1 {
		t.Errorf("got %d connections of one client, want 1", got)
	}
	get(second)
	if got := len(s.remotes); got != 2 {
		t.Errorf("got %d connections of two clients, want 2", got)
	}
	second.Reconnect()
	get(second)
	if got := len(s.remotes); got != 3 {
		t.Errorf("got %d connections after a reconnect, want 3", got)
	}
	get(first)
	if got := len(s.remotes); got != 3 {
		t.Errorf("got %d connections, want that one client's reconnect leaves the other's alone", got)
	}
}

func TestTimeoutBoundsARequest(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := leases(t, silent.URL, 50*time.Millisecond).Get().AbsPath("/").Do(ctx).Error()
	if err == nil || ctx.Err() != nil {
		t.Errorf("got %v, want an error long before the context's", err)
	}
}

func TestNewLeavesTheConfigAlone(t *testing.T) {
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	for _, version := range []schema.GroupVersion{eventsv1.SchemeGroupVersion, {Version: "v1"}} {
		client, err := kubeapi.New(config, kubeapi.Options{Version: version})
		if err != nil {
			t.Fatal(err)
		}
		if got := client.APIVersion(); got != version {
			t.Errorf("got %v, want %v", got, version)
		}
	}
	if config.Dial != nil || config.GroupVersion != nil || config.UserAgent != "" {
		t.Error("got a changed config, want it as it was")
	}
	if _, err := kubeapi.New(nil, kubeapi.Options{}); err == nil {
		t.Error("got no error without a config, want one")
	}
}
