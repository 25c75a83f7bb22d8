package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	engine "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
)

// world is a remote cluster and a local API server that fail as a test wants,
// with a daemon whose parts are counted. It runs inside a synctest bubble.
type world struct {
	t        *testing.T
	registry *prometheus.Registry
	metrics  *metrics.Metrics
	syncer   *controllertest.Engine
	// writes counts the writes that the store saw.
	writes atomic.Int64
	store  *store.Memory

	mu    sync.Mutex
	nodes []inventory.Node
	// readErr, loadErr and writeErr are the answers while they are set.
	readErr, loadErr, writeErr error
	// outcome is what each probe says after taking so long.
	outcome inventory.Outcome
	takes   time.Duration
}

// start runs a daemon of healthy nodes with those last octets; change may alter
// its options.
func start(t *testing.T, change func(*controllertest.Options), octets ...int) *world {
	t.Helper()
	w := &world{t: t, registry: prometheus.NewPedanticRegistry(), outcome: inventory.Pass, takes: time.Millisecond}
	w.setNodes(octets...)
	target := publish.Target{
		Namespace: "default", Service: "web", SliceName: "web-remote", ManagedBy: "tester",
		Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}, MaxEndpoints: 100,
	}
	store, err := store.NewMemory(store.MemoryOptions{Target: target, Service: publish.Service{UID: "uid-1", Ports: []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80}}}})
	if err != nil {
		t.Fatal(err)
	}
	w.store = store
	m, err := metrics.New(metrics.Options{Registry: w.registry, Version: "v1.2.3", Snapshot: func() *engine.Snapshot { return w.syncer.Server().Snapshot() }})
	if err != nil {
		t.Fatal(err)
	}
	w.metrics = m
	opts := controllertest.Options{
		Source: m.Source("static", reader{w}), Prober: m.Prober("remote", checker{w}), Store: m.Store(keeper{store, w}), Target: target,
		StoreChanged: store.Changed(),
		Observe: engine.Observe{
			Planned: m.Planned, Read: m.Read, OfGroup: m.OfGroup,
		},
		Policy: guard.Policy{
			Rise: 2, Fall: 3, Interval: 2 * time.Second, MaxSilentPercent: 50, FailOpen: true,
			Threshold: 10, PollInterval: 30 * time.Second, MaxRemovalPercent: 50, DrainPeriod: 30 * time.Second,
		},
		Rules:        filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}},
		PollInterval: 30 * time.Second, SourceTimeout: 20 * time.Second, HealthTimeout: time.Second, Concurrency: 256,
	}
	if change != nil {
		change(&opts)
	}
	if w.syncer, err = controllertest.New(opts); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.syncer.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return w
}

// setNodes makes the inventory those nodes.
func (w *world) setNodes(octets ...int) {
	w.set(func() {
		w.nodes = nil
		for _, o := range octets {
			w.nodes = append(w.nodes, node(fmt.Sprintf("w%d", o), fmt.Sprintf("10.0.0.%d", o)))
		}
	})
}

// node is a ready worker.
func node(name, addr string) inventory.Node {
	return inventory.Node{Name: name, Addresses: []netip.Addr{netip.MustParseAddr(addr)}, Ready: true, Worker: true}
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// during lets time pass and waits until everything has settled.
func (w *world) during(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// gather returns what a scrape shows.
func (w *world) gather() map[string]float64 {
	w.t.Helper()
	return gather(w.t, w.registry)
}

// reader, checker and keeper are the world as a source, a prober and a store.
type reader struct{ *world }

func (r reader) Read(context.Context) ([]inventory.Node, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]inventory.Node(nil), r.nodes...), r.readErr
}

type checker struct{ *world }

func (c checker) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	c.mu.Lock()
	r := inventory.Result{Address: addr, At: time.Now(), Outcome: c.outcome, Message: addr.String() + " said so"}
	takes := c.takes
	c.mu.Unlock()
	switch r.Outcome {
	case inventory.Pass:
		r.Reason = inventory.Ready
	case inventory.Refused:
		r.Reason = inventory.ProbeRefused
	case inventory.Silent:
		r.Reason = inventory.ProbeTimeout
	case inventory.LocalError, inventory.Elsewhere:
	}
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		r.Outcome, r.Reason = inventory.LocalError, ""
	case <-timer.C:
	}
	return r
}

type keeper struct {
	*store.Memory
	*world
}

func (k keeper) Load(ctx context.Context) (publish.State, error) {
	k.mu.Lock()
	err := k.loadErr
	k.mu.Unlock()
	if err != nil {
		return publish.State{}, err
	}
	return k.Memory.Load(ctx)
}

func (k keeper) Write(ctx context.Context, write publish.Write) (string, error) {
	k.writes.Add(1)
	k.mu.Lock()
	err := k.writeErr
	k.mu.Unlock()
	if err != nil {
		return "", err
	}
	return k.Memory.Write(ctx, write)
}

// gather returns what a scrape of the registry shows: the value by name and
// labels, as name{a="x",b="y"}; of a histogram the count and the sum.
func gather(t testing.TB, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			series := "{" + strings.Join(labels, ",") + "}"
			if series == "{}" {
				series = ""
			}
			switch name := f.GetName(); {
			case m.GetHistogram() != nil:
				got[name+"_count"+series] = float64(m.GetHistogram().GetSampleCount())
				got[name+"_sum"+series] = m.GetHistogram().GetSampleSum()
			case m.GetCounter() != nil:
				got[name+series] = m.GetCounter().GetValue()
			default:
				got[name+series] = m.GetGauge().GetValue()
			}
		}
	}
	return got
}

// want compares some of the values; a series that is not there is a difference.
func want(t *testing.T, got map[string]float64, wanted map[string]float64) {
	t.Helper()
	for series, value := range wanted {
		if is, ok := got["ionos_endpointslice_"+series]; !ok || is != value {
			t.Errorf("%s: got %v (there: %t), want %v", series, is, ok, value)
		}
	}
}

var errOutage = errors.New("10.9.8.7 does not answer: hunter2-s3cr3t")
