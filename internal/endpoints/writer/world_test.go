package writer_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// world is a store with faults, with a program that gives verdicts and looks at the
// results. It runs inside a synctest bubble.
type world struct {
	*testing.T
	store    *store.Memory
	opts     options
	verdicts chan *guard.Verdict
	members  map[int]inventory.Member
	// cancel asks the target to stop, stop also waits for it.
	cancel, stop func()

	mu sync.Mutex
	// write, when set, comes before a write, and replaces it if it returns an
	// error; after comes after it. Both may take time.
	write, after func(context.Context, publish.Write) error
	load         func(context.Context) error
	stale        error // why what is loaded may be out of date
	unread       error // why slices could not be read
	writes       []written
	loaded       int
	outcomes     []writer.Outcome
}

// options are what the target of a world is made of.
type options struct {
	Store   writer.Store
	Changed <-chan struct{}
	Target  publish.Target
	Lanes   int
	DryRun  bool
	Observe func(writer.Outcome)
	Random  func() float64
}

// written is one write as the store saw it.
type written struct {
	name     string
	at, done time.Time
	write    publish.Write
	err      error
}

var service = publish.Service{UID: "uid-1", Ports: []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80}}}

// newWorld makes a world whose slices hold one endpoint each.
func newWorld(t *testing.T) *world {
	t.Helper()
	aim := publish.Target{
		Namespace: "default", Service: "web", SliceName: "web", ManagedBy: "tester",
		Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}, MaxEndpoints: 1,
	}
	store, err := store.NewMemory(store.MemoryOptions{Target: aim, Service: service})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, store: store, verdicts: make(chan *guard.Verdict, 1), members: map[int]inventory.Member{}}
	w.opts = options{
		Store: w, Changed: store.Changed(), Target: aim, Random: func() float64 { return 0.9 },
		Observe: func(o writer.Outcome) { w.set(func() { w.outcomes = append(w.outcomes, o) }) },
	}
	return w
}

// in runs a test in a bubble, in a world in which the endpoints from 1 to n are
// published.
func in(t *testing.T, n int, test func(w *world)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.decide(inventory.StateReady, upTo(n)...)
		during(time.Minute)
		w.taken()
		test(w)
		w.stop()
	})
}

// start runs the target until stop, from when it was read.
func (w *world) start() {
	w.Helper()
	recovered := make(chan struct{}, 1)
	set := writer.NewSet(writer.SetOptions{Lanes: w.opts.Lanes, Random: w.opts.Random})
	one, err := set.Add(writer.Options{
		Fills: []writer.Fill{{Pool: "blue", Store: w.opts.Store, Target: w.opts.Target}}, DryRun: w.opts.DryRun,
		Observe: func(o writer.Outcome) {
			w.opts.Observe(o)
			if o.Recovered {
				recovered <- struct{}{}
			}
		},
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	var running sync.WaitGroup
	running.Go(func() { set.Run(ctx) })
	running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case v := <-w.verdicts:
				set.Publish("blue", v)
			case <-w.opts.Changed:
				one.Changed()
			}
		}
	})
	<-recovered
	w.cancel, w.stop = cancel, func() { cancel(); running.Wait() }
}

// decide gives endpoints a state, and publishes the verdict.
func (w *world) decide(state inventory.State, octets ...int) {
	for _, o := range octets {
		w.members[o] = inventory.Member{Address: address(o), State: state}
		if state == inventory.Absent {
			delete(w.members, o)
		}
	}
	w.publish()
}

// rezone changes something in every slice.
func (w *world) rezone(zone string) {
	for o, m := range w.members {
		m.Zone = zone
		w.members[o] = m
	}
	w.publish()
}

// publish gives the target the newest verdict in place of one it has not taken.
func (w *world) publish() {
	var v guard.Verdict
	for _, m := range w.members {
		v.Members = append(v.Members, m)
	}
	slices.SortFunc(v.Members, inventory.CompareMembers)
	select {
	case <-w.verdicts:
	default:
	}
	w.verdicts <- &v
}

// Load is the store's.
func (w *world) Load(ctx context.Context) (publish.State, error) {
	w.mu.Lock()
	w.loaded++
	load := w.load
	w.mu.Unlock()
	if load != nil {
		if err := load(ctx); err != nil {
			return publish.State{}, err
		}
	}
	state, err := w.store.Load(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	state.Stale, state.UnreadErr = w.stale, w.unread
	return state, err
}

// Write is the store's.
func (w *world) Write(ctx context.Context, write publish.Write) (version string, err error) {
	at := time.Now()
	w.mu.Lock()
	before, after := w.write, w.after
	w.mu.Unlock()
	if before != nil {
		err = before(ctx, write)
	}
	if err == nil {
		version, err = w.store.Write(ctx, write)
	}
	if err == nil && after != nil {
		err = after(ctx, write)
	}
	w.set(func() { w.writes = append(w.writes, written{write.Slice.Name, at, time.Now(), write, err}) })
	return version, err
}

// set changes the world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// taken returns the writes that ended since the last call.
func (w *world) taken() []written {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.writes
	w.writes = nil
	return all
}

// loads is how often the store was read.
func (w *world) loads() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loaded
}

// told returns the outcomes since the last call.
func (w *world) told() []writer.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.outcomes
	w.outcomes = nil
	return all
}

// last returns the newest outcome.
func (w *world) last() writer.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcomes[len(w.outcomes)-1]
}

// published returns what the store holds: "1=ready 2=down".
func (w *world) published() string {
	w.Helper()
	state, err := w.store.Load(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	var got []string
	for _, m := range publish.Published(state) {
		got = append(got, fmt.Sprintf("%d=%s", int(m.Address.As4()[2])<<8+int(m.Address.As4()[3]), m.State))
	}
	return strings.Join(got, " ")
}

// wantPublished compares what the store holds.
func (w *world) wantPublished(want string) {
	w.Helper()
	if diff := cmp.Diff(want, w.published()); diff != "" {
		w.Errorf("published (-want +got):\n%s", diff)
	}
}

// downAfter decides that an endpoint is down, and returns how long the store goes
// on saying something else.
func (w *world) downAfter(octet int) time.Duration {
	w.Helper()
	start := time.Now()
	w.decide(inventory.StateDown, octet)
	for time.Since(start) < 5*time.Minute {
		synctest.Wait()
		state, err := w.store.Load(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		if inventory.StateOf(publish.Published(state), address(octet)) == inventory.StateDown {
			return time.Since(start)
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.Fatalf("%d is not down after 5 min", octet)
	return 0
}

// during lets time pass and waits until everything has settled.
func during(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wait takes that long, or until the context ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// address is that of an octet.
func address(octet int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, byte(octet >> 8), byte(octet)})
}

// upTo returns the numbers from 1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

var errRefused = errors.New("admission webhook denied the request")
