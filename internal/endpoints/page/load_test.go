package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/page"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
)

// fleet is a source of many nodes, all of which are this machine.
type fleet struct {
	mu      sync.Mutex
	nodes   []inventory.Node
	changed chan struct{}
}

func (f *fleet) Read(context.Context) ([]inventory.Node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes, nil
}

// grow adds nodes up to a number, and says so.
func (f *fleet) grow(size int) {
	f.mu.Lock()
	for i := len(f.nodes); i < size; i++ {
		f.nodes = append(f.nodes[:i:i], inventory.Node{
			Name: fmt.Sprintf("nodepool-frankfurt-worker-%05d", i), ID: fmt.Sprintf("7c1d3a52-0b1e-4f6a-9d6c-%012d", i), Zone: "de/fra",
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{127, 9, byte(i / 250), byte(i%250 + 1)})}, Ready: true, Worker: true,
		})
	}
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// collapse makes the source forget all nodes except one. That gives the longest
// messages: those of a rejected inventory that lists something.
func (f *fleet) collapse() {
	f.mu.Lock()
	f.nodes = f.nodes[:1]
	f.mu.Unlock()
	f.changed <- struct{}{}
}

// discard takes the slices that the memory store prints.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// busyWorld runs the real parts on many nodes, every other of which refuses.
func busyWorld(t *testing.T, size int) (*world, *fleet, *controllertest.Engine) {
	t.Helper()
	// One listener on all of 127.0.0.0/8 for the whole fleet.
	backend, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { backend.Close() })
	go func() {
		for conn, err := backend.Accept(); err == nil; conn, err = backend.Accept() {
			conn.Close()
		}
	}()
	port := uint16(backend.Addr().(*net.TCPAddr).Port)
	checker := health.New(health.Options{Mode: health.TCP, Port: port, Timeout: 5 * time.Second})
	target := publish.Target{
		Namespace: "default", Service: "web", SliceName: "web-remote", ManagedBy: "tester", MaxEndpoints: 100,
		Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: port}},
	}
	service := publish.Service{UID: "1", Ports: []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80}}}
	store, err := store.NewMemory(store.MemoryOptions{Target: target, Service: service, Out: discard{}})
	if err != nil {
		t.Fatal(err)
	}
	source := &fleet{changed: make(chan struct{}, 1)}
	source.grow(size)
	s, err := controllertest.New(controllertest.Options{
		Source: source, Store: store, SourceChanged: source.changed, StoreChanged: store.Changed(), Prober: checker, Target: target, PollInterval: time.Hour, SourceTimeout: time.Minute,
		Rules:         filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowLoopback: true},
		Policy:        guard.Policy{Rise: 2, Fall: 3, Interval: 10 * time.Second, MaxSilentPercent: 50, FailOpen: true, Threshold: 10, MaxRemovalPercent: 50, DrainPeriod: time.Minute},
		HealthTimeout: 5 * time.Second, Concurrency: 256,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	started := time.Now()
	w := newWorld(t, func(o *page.Options) {
		o.Service = func(string, string) (*report.Document, error) {
			m := report.Process{Now: time.Now(), Snapshot: s.Server().Snapshot(), StoreKind: "memory", Leader: true, Version: "v1", Started: started}
			m.Only = assign.Key{Namespace: target.Namespace, Service: target.Service}
			return m.Service(target.Namespace, target.Service)
		}
	})
	return w, source, s
}

// await waits until so many endpoints are ready.
func await(t *testing.T, s *controllertest.Engine, ready int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; <-time.After(10 * time.Millisecond) {
		got := 0
		for _, m := range s.Status().Verdict.Members {
			if m.State == inventory.StateReady {
				got++
			}
		}
		if got == ready {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %d ready endpoints, want %d", got, ready)
		}
	}
}

// The figure: the document of 5,000 nodes, with the messages of the real
// filter, probes and guard, stays under 5 MB and delays no decision. There is no
// bound in seconds: what counts is how many documents a client gets to see that
// do not know yet what the source said before they were asked for.
func TestTheDocumentOf5000NodesIsSmallAndDelaysNoDecision(t *testing.T) {
	if testing.Short() {
		t.Skip("probes 5,000 addresses")
	}
	const size, limit = 5000, 5_000_000
	w, source, s := busyWorld(t, size)
	await(t, s, size)
	plain := w.ask(http.MethodGet, w.admin, "/api/v1/services/default/web")
	body := w.page("")
	t.Logf("5,000 nodes: %d bytes of JSON, %d bytes of page", len(plain.body), len(body.body))
	if plain.code != http.StatusOK || len(plain.body) >= limit {
		t.Errorf("got %d and %d bytes, want 200 and less than %d", plain.code, len(plain.body), limit)
	}

	// Each client counts the documents that it asked for after the source had
	// changed and that still show the world before.
	const clients, most = 12, 3
	var changed atomic.Bool
	var busy sync.WaitGroup
	busy.Add(clients)
	old := make(chan int, clients)
	for range clients {
		go func() { old <- w.countOld(size+1, busy.Done, &changed) }()
	}
	busy.Wait()
	source.grow(size + 1)
	changed.Store(true)
	for range clients {
		if got := <-old; got > most {
			t.Errorf("a client got %d documents that had not heard of the new node yet, want at most %d", got, most)
		}
	}

	// The longest messages are those of a rejected inventory.
	source.collapse()
	for s.Status().Verdict.Mode != guard.Hold {
		<-time.After(10 * time.Millisecond) // the test's own time-out bounds it
	}
	held := w.ask(http.MethodGet, w.admin, "/api/v1/services/default/web")
	t.Logf("holding: %d bytes of JSON", len(held.body))
	if held.code != http.StatusOK || len(held.body) >= limit {
		t.Errorf("holding: got %d and %d bytes, want 200 and less than %d", held.code, len(held.body), limit)
	}
}

// countOld asks for documents until one has so many nodes. It counts documents with
// fewer nodes that were asked for after the change. It calls underWay when the load
// has begun.
func (w *world) countOld(nodes int, underWay func(), changed *atomic.Bool) int {
	old := 0
	for asked := 1; ; asked++ {
		after := changed.Load()
		got := w.ask(http.MethodGet, w.admin, "/api/v1/services/default/web")
		if asked == 2 {
			underWay()
		}
		var doc struct{ Nodes []struct{} }
		switch err := json.Unmarshal([]byte(got.body), &doc); {
		case got.code == http.StatusServiceUnavailable:
		case err != nil:
			w.t.Error(err)
			return old
		case len(doc.Nodes) >= nodes:
			return old
		case after:
			old++
		}
	}
}
