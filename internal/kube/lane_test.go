package kube_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// busy is an API server that answers watches, and no write before it is told to.
type busy struct {
	*httptest.Server

	arrived chan string // the remote address of each write
	free    chan struct{}
	mu      sync.Mutex
	watches []string // their remote addresses
}

func newBusy(t *testing.T) *busy {
	b := &busy{arrived: make(chan string, 1000), free: make(chan struct{})}
	b.Server = httptest.NewUnstartedServer(b)
	b.EnableHTTP2, b.Config.HTTP2 = true, &http.HTTP2Config{MaxConcurrentStreams: 10}
	b.StartTLS()
	t.Cleanup(b.Close)
	return b
}

func (b *busy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet && !r.URL.Query().Has("watch") {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet {
		_, _ = io.Copy(io.Discard, r.Body)
		b.arrived <- r.RemoteAddr
		<-b.free
		return
	}
	b.mu.Lock()
	b.watches = append(b.watches, r.RemoteAddr)
	b.mu.Unlock()
	_, _ = io.WriteString(w, `{"type":"ADDED","object":{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"}}}`+"\n")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// TestContract57AWatchWaitsForNoWrite: more writes are under way than a connection
// carries, and none of them is answered. A read comes first: Go's server ends a stream too
// many with an error that is not sent again, where the client has confirmed a moment ago
// how many there may be.
func TestContract57AWatchWaitsForNoWrite(t *testing.T) {
	const many = 15
	server := newBusy(t)
	client := newClient(t, kube.Fixed(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}), time.Minute)
	_ = client.Get(t.Context(), kube.Leases("n"), "none", nil)
	var writing sync.WaitGroup
	defer writing.Wait()
	defer close(server.free)
	failed := make(chan error, many)
	for range many {
		writing.Go(func() { failed <- client.Create(t.Context(), kube.Leases("n"), &coordinationv1.Lease{}, nil) })
	}
	writes := map[string]bool{}
	for range many {
		select {
		case address := <-server.arrived:
			writes[address] = true
		case err := <-failed:
			t.Fatalf("a write ended before it was answered: %v", err)
		}
	}
	watch, err := client.Watch(t.Context(), kube.Leases("n"), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if event := <-watch.ResultChan(); event.Type != "ADDED" {
		t.Errorf("got %v, want what the server tells", event)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	for _, address := range server.watches {
		if writes[address] {
			t.Error("the watch is on a connection of writes, want one of its own")
		}
	}
}
