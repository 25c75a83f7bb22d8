package controllertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
)

// world is a scripted remote cluster, local API server and daemon. It runs inside a
// synctest bubble: minutes pass in microseconds.
type world struct {
	t *testing.T

	mu      sync.Mutex
	nodes   []inventory.Node
	readErr error
	// readTakes is how long a read takes, at most until its context ends.
	readTakes time.Duration
	// dead are the addresses that refuse, mute those that do not answer.
	dead, mute map[string]bool
	reads      []time.Time
	inFlight   int
	overlaps   int
	signal     chan struct{}

	store *fakeStore
	logs  *logBuffer
	opts  controllertest.Options
	stop  func()
}

// policy is the default configuration.
func policy() guard.Policy {
	return guard.Policy{
		Rise: 2, Fall: 3, Interval: 2 * time.Second, MaxSilentPercent: 50, FailOpen: true,
		Threshold: 10, PollInterval: 30 * time.Second, MaxRemovalPercent: 50, DrainPeriod: 30 * time.Second,
	}
}

// newWorld makes a world of healthy nodes with those last octets.
func newWorld(t *testing.T, octets ...int) *world {
	t.Helper()
	w := &world{t: t, dead: map[string]bool{}, mute: map[string]bool{}, signal: make(chan struct{}, 1), logs: &logBuffer{}}
	w.setNodes(octets...)
	target := publish.Target{
		Namespace: "default", Service: "web", SliceName: "web-remote", ManagedBy: "tester",
		Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}, MaxEndpoints: 100,
	}
	w.store = newFakeStore(t, target)
	w.opts = controllertest.Options{
		Source: w, Prober: w, Store: w.store, SourceChanged: w.signal, StoreChanged: w.store.Changed(), Target: target, Policy: policy(),
		Rules:        filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}},
		PollInterval: 30 * time.Second, SourceTimeout: 20 * time.Second,
		HealthTimeout: time.Second, Concurrency: 256,
		Logger: slog.New(slog.NewJSONHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	return w
}

// setNodes makes the inventory those nodes.
func (w *world) setNodes(octets ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = nil
	for _, o := range octets {
		w.nodes = append(w.nodes, inventory.Node{
			Name: fmt.Sprintf("w%d", o), Addresses: []netip.Addr{netip.MustParseAddr(ip(o))}, Ready: true, Worker: true,
		})
	}
}

// ip is the address of a node.
func ip(octet int) string { return fmt.Sprintf("10.0.0.%d", octet) }

// set changes the world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// Read is the source.
func (w *world) Read(ctx context.Context) ([]inventory.Node, error) {
	w.mu.Lock()
	w.reads = append(w.reads, time.Now())
	if w.inFlight++; w.inFlight > 1 {
		w.overlaps++
	}
	takes := w.readTakes
	w.mu.Unlock()
	defer w.set(func() { w.inFlight-- })
	// Two timers of no duration at the same time crash the race detector in a
	// bubble (seen with Go 1.26.8), so there is none.
	timer := time.NewTimer(max(takes, time.Nanosecond))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.nodes), w.readErr
}

// Check is the prober: a millisecond for an answer, the time-out for silence.
func (w *world) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	r := inventory.Result{Address: addr, At: time.Now(), Outcome: inventory.Pass, Reason: inventory.Ready, Message: "answered"}
	w.mu.Lock()
	takes := time.Millisecond
	switch {
	case w.mute[addr.String()]:
		r.Outcome, r.Reason, r.Message, takes = inventory.Silent, inventory.ProbeTimeout, "no answer", time.Second
	case w.dead[addr.String()]:
		r.Outcome, r.Reason, r.Message = inventory.Refused, inventory.ProbeRefused, "connection refused"
	}
	w.mu.Unlock()
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		r.Outcome, r.Reason = inventory.LocalError, ""
	case <-timer.C:
	}
	return r
}

// start runs the daemon until the test ends or restart is called.
func (w *world) start() *controllertest.Engine {
	w.t.Helper()
	s := newEngine(w.t, w)
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	w.stop = func() {
		w.t.Helper()
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}
	return s
}

// newEngine makes a daemon of the world's options.
func newEngine(t *testing.T, w *world) *controllertest.Engine {
	t.Helper()
	s, err := controllertest.New(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// during lets time pass and waits until everything has settled.
func during(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// members returns the published endpoints as "10.0.0.11 ready" and so on.
func (w *world) members() []string {
	w.t.Helper()
	state, err := w.store.Memory.Load(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	got := []string{}
	for _, s := range state.Slices {
		for _, m := range s.Endpoints {
			got = append(got, m.Address.String()+" "+m.State.String())
		}
	}
	return got
}

// fakeStore is the memory store with faults.
type fakeStore struct {
	*store.Memory
	mu sync.Mutex
	// fail, when set, replaces a write's answer; lost carries the write out and
	// says that it failed.
	fail  func(publish.Write) error
	lost  bool
	loads error
	takes time.Duration
	// loadTakes is how long a load takes.
	loadTakes time.Duration
	writes    []written
	// service is the Service that the store was made with.
	service publish.Service
}

// written is one write as the store saw it.
type written struct {
	at    time.Time
	write publish.Write
	err   error
}

func newFakeStore(t *testing.T, target publish.Target) *fakeStore {
	t.Helper()
	service := publish.Service{UID: "uid-1", Ports: []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80}}}
	store, err := store.NewMemory(store.MemoryOptions{Target: target, Service: service})
	if err != nil {
		t.Fatal(err)
	}
	return &fakeStore{Memory: store, service: service}
}

func (f *fakeStore) Load(ctx context.Context) (publish.State, error) {
	f.mu.Lock()
	err, takes := f.loads, f.loadTakes
	f.mu.Unlock()
	if takes > 0 {
		time.Sleep(takes)
	}
	if err != nil {
		return publish.State{}, err
	}
	return f.Memory.Load(ctx)
}

func (f *fakeStore) Write(ctx context.Context, w publish.Write) (string, error) {
	f.mu.Lock()
	fail, lost, takes := f.fail, f.lost, f.takes
	f.mu.Unlock()
	at := time.Now()
	var version string
	var err error
	if takes > 0 {
		timer := time.NewTimer(takes)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-timer.C:
		}
	}
	if err == nil && fail != nil {
		err = fail(w)
	}
	if err == nil {
		version, err = f.Memory.Write(ctx, w)
	}
	if err == nil && lost {
		version, err = "", errors.New("the answer was lost")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes = append(f.writes, written{at, w, err})
	return version, err
}

// set changes the store's faults.
func (f *fakeStore) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// taken returns the writes since the last call.
func (f *fakeStore) taken() []written {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.writes
	f.writes = nil
	return all
}

// logBuffer keeps log lines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// with returns the lines with that message since the last call of taken.
func (b *logBuffer) with(message string) []map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []map[string]any
	for line := range strings.Lines(b.buf.String()) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["msg"] == message {
			found = append(found, entry)
		}
	}
	return found
}
