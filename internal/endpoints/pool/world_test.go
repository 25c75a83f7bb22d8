package pool_test

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// options are those of a pool with one group, and of the hubs that it uses.
type options struct {
	pool.ReaderOptions
	pool.GroupOptions
	concurrency int
	connections health.ConnectionsOptions
}

// run runs the pool and its group from what is published until ctx ends.
func (o options) run(ctx context.Context, tb testing.TB, running *sync.WaitGroup, published ...inventory.Member) {
	tb.Helper()
	reader := pool.NewReader(o.ReaderOptions)
	hub := health.NewHub(health.HubOptions{Concurrency: cmp.Or(o.concurrency, 256)})
	o.connections.MaxConnections, o.connections.Random = max(o.connections.MaxConnections, 1), o.ReaderOptions.Random
	holds := health.NewConnections(o.connections)
	of := o.GroupOptions
	of.Reader, of.Hub, of.Share, of.HoldHub = reader, hub, hub.Share(1), holds
	group := pool.NewGroup(of)
	running.Go(func() {
		if err := group.Run(ctx, published); err != nil {
			tb.Error(err)
		}
	})
	running.Go(func() { reader.Run(ctx) })
	running.Go(func() { hub.Run(ctx) })
	running.Go(func() { holds.Run(ctx) })
}

// world is a scripted remote cluster and a target that takes verdicts. It runs
// inside a synctest bubble.
type world struct {
	*testing.T
	opts    options
	changed chan struct{}
	stop    func()

	mu    sync.Mutex
	nodes []inventory.Node
	// err is what reads answer, takes how long they need.
	err   error
	takes time.Duration
	reads []time.Time
	// dead refuse, mute do not answer, lost cannot be asked.
	dead, mute, lost map[netip.Addr]bool
	silence          time.Duration
	checked          map[netip.Addr]int
	// verdict is the newest that a target has, verdicts counts them.
	verdict  *guard.Verdict
	verdicts int
	outcomes []pool.Outcome
	// states are what was published, one after the other.
	states []string
}

// newWorld has healthy nodes.
func newWorld(t *testing.T, octets ...int) *world {
	t.Helper()
	w := &world{T: t, changed: make(chan struct{}, 1), dead: map[netip.Addr]bool{}, mute: map[netip.Addr]bool{}, lost: map[netip.Addr]bool{}, checked: map[netip.Addr]int{}, silence: time.Second}
	w.list(octets...)
	w.opts = options{
		ReaderOptions: pool.ReaderOptions{
			Source: w, Changed: w.changed, Rules: filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}},
			PollInterval: 30 * time.Second, SourceTimeout: 20 * time.Second, Random: func() float64 { return 0.5 },
		},
		GroupOptions: pool.GroupOptions{
			Prober: w, HealthTimeout: time.Second,
			Policy: guard.Policy{
				Rise: 2, Fall: 3, Interval: 2 * time.Second, MaxSilentPercent: 50, FailOpen: true,
				Threshold: 10, MaxRemovalPercent: 50, DrainPeriod: 30 * time.Second,
			},
			Publish: w.take,
			Observe: func(o pool.Outcome) { w.set(func() { w.outcomes = append(w.outcomes, o) }) },
		},
		concurrency: 256,
	}
	return w
}

// in runs a test in a pool that has decided on the healthy nodes 1, 2 and 3.
func in(t *testing.T, test func(w *world)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, 2, 3)
		w.start()
		during(10 * time.Second)
		w.want("1=ready 2=ready 3=ready")
		test(w)
		w.stop()
	})
}

// start runs the pool from what is published.
func (w *world) start(published ...inventory.Member) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	var running sync.WaitGroup
	w.opts.run(ctx, w, &running, published...)
	w.stop = func() { cancel(); running.Wait() }
}

// take is the target.
func (w *world) take(v *guard.Verdict) {
	w.set(func() { w.verdict = v; w.verdicts++ })
	if got := w.published(); len(w.states) == 0 || got != w.states[len(w.states)-1] {
		w.set(func() { w.states = append(w.states, got) })
	}
}

// list makes the inventory those nodes.
func (w *world) list(octets ...int) {
	w.set(func() {
		w.nodes = nil
		for _, o := range octets {
			w.nodes = append(w.nodes, inventory.Node{Name: fmt.Sprint("w", o), Addresses: []netip.Addr{address(o)}, Ready: true, Worker: true})
		}
	})
}

// signal says that the inventory changed.
func (w *world) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

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
	takes := w.takes
	w.mu.Unlock()
	if !passes(ctx, takes+1) {
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.nodes), w.err
}

// Check is the prober: a millisecond for an answer.
func (w *world) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	r := inventory.Result{Address: addr, At: time.Now(), Outcome: inventory.Pass, Reason: inventory.Ready}
	takes := time.Millisecond
	w.set(func() {
		w.checked[addr]++
		switch {
		case w.mute[addr]:
			r.Outcome, r.Reason, takes = inventory.Silent, inventory.ProbeTimeout, w.silence
		case w.dead[addr]:
			r.Outcome, r.Reason = inventory.Refused, inventory.ProbeRefused
		case w.lost[addr]:
			r.Outcome, r.Reason, r.Message = inventory.LocalError, "", "too many open files"
		}
	})
	if !passes(ctx, takes) {
		r.Outcome, r.Reason = inventory.LocalError, ""
	}
	return r
}

// passes reports whether that much time passes before the context ends.
func passes(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// published is what the newest verdict that a target took says: "1=ready 2=down".
func (w *world) published() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var got []string
	for _, m := range w.verdict.Members {
		got = append(got, fmt.Sprintf("%d=%s", m.Address.As4()[3], m.State))
	}
	return strings.Join(got, " ")
}

// want compares what the targets have.
func (w *world) want(published string) {
	w.Helper()
	if got := w.published(); got != published {
		w.Errorf("got %s, want %s", got, published)
	}
}

// until waits until the targets have that, and returns how long it took.
func (w *world) until(part string) time.Duration {
	w.Helper()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		synctest.Wait()
		if got := w.published(); strings.Contains(got, part) {
			return time.Since(start)
		} else if time.Since(start) > time.Minute {
			w.Fatalf("after a minute the targets still have %s, not %s", got, part)
		}
	}
}

// during lets time pass and waits until everything has settled.
func during(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
