package writer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// crowd is many Services, each with a store that may fail, and the set that fills
// them.
type crowd struct {
	testing.TB
	set *writer.Set
	all map[string]*crowdService
	// cancel asks the set to stop, stop also waits for it.
	cancel, stop func()
}

// crowdService is one Service, "namespace/name", and its store.
type crowdService struct {
	*store.Memory
	name string
	fill writer.Fill
	// added is the target while it is there.
	added *writer.Filler

	mu sync.Mutex
	// write and load come before the store's, and replace it by an error.
	write func(context.Context, publish.Write) error
	load  func(context.Context) error
	// observe gets the outcomes first.
	observe  func(writer.Outcome)
	writes   []written
	loads    int
	outcomes []writer.Outcome
}

// newCrowd makes a set and Services, without a target yet.
func newCrowd(t testing.TB, opts writer.SetOptions, names ...string) *crowd {
	t.Helper()
	c := &crowd{TB: t, set: writer.NewSet(opts), all: make(map[string]*crowdService)}
	for _, name := range names {
		c.all[name] = newServed(t, name, 100)
	}
	return c
}

// newServed makes an empty Service whose slices hold so many endpoints.
func newServed(t testing.TB, name string, most int) *crowdService {
	t.Helper()
	namespace, service, _ := strings.Cut(name, "/")
	aim := publish.Target{
		Namespace: namespace, Service: service, SliceName: service + ".blue", ManagedBy: "tester",
		Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}, MaxEndpoints: most,
	}
	s := &crowdService{Memory: storeOf(t, aim), name: name}
	s.fill = writer.Fill{Pool: "blue", Store: s, Target: aim}
	return s
}

// storeOf returns a store for a Service that exists.
func storeOf(t testing.TB, aim publish.Target) *store.Memory {
	t.Helper()
	store, err := store.NewMemory(store.MemoryOptions{Target: aim, Service: service})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// start runs the set with all Services as targets until the test ends.
func (c *crowd) start() {
	c.Helper()
	for _, s := range c.all {
		c.add(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); c.set.Run(ctx) }()
	c.cancel, c.stop = cancel, func() { cancel(); <-done }
	c.Cleanup(c.stop)
}

// add makes the Service a target.
func (c *crowd) add(s *crowdService) {
	c.Helper()
	added, err := c.set.Add(writer.Options{Fills: []writer.Fill{s.fill}, Observe: s.told})
	if err != nil {
		c.Fatal(err)
	}
	s.added = added
}

// remove makes it none.
func (c *crowd) remove(s *crowdService) { c.set.Remove(s.added) }

// told takes an outcome in.
func (s *crowdService) told(o writer.Outcome) {
	s.mu.Lock()
	observe := s.observe
	s.outcomes = append(s.outcomes, o)
	s.mu.Unlock()
	if observe != nil {
		observe(o)
	}
}

// Load is the store's.
func (s *crowdService) Load(ctx context.Context) (publish.State, error) {
	s.mu.Lock()
	s.loads++
	load := s.load
	s.mu.Unlock()
	if load != nil {
		if err := load(ctx); err != nil {
			return publish.State{}, err
		}
	}
	return s.Memory.Load(ctx)
}

// Write is the store's.
func (s *crowdService) Write(ctx context.Context, w publish.Write) (version string, err error) {
	s.mu.Lock()
	write := s.write
	s.mu.Unlock()
	if write != nil {
		err = write(ctx, w)
	}
	if err == nil {
		version, err = s.Memory.Write(ctx, w)
	}
	s.set(func() { s.writes = append(s.writes, written{name: w.Slice.Name, write: w, err: err}) })
	return version, err
}

// set changes the Service.
func (s *crowdService) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// taken returns the writes that ended since the last call.
func (s *crowdService) taken() []written {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.writes
	s.writes = nil
	return all
}

// last is the newest outcome.
func (s *crowdService) last() writer.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.outcomes) == 0 {
		return writer.Outcome{}
	}
	return s.outcomes[len(s.outcomes)-1]
}

// published returns what the store holds: "1=ready 2=down".
func (s *crowdService) published() string {
	state, err := s.Memory.Load(context.Background())
	if err != nil {
		return err.Error()
	}
	var got []string
	for _, m := range publish.Published(state) {
		got = append(got, fmt.Sprintf("%d=%s", int(m.Address.As4()[2])<<8+int(m.Address.As4()[3]), m.State))
	}
	return strings.Join(got, " ")
}

// verdict is that the endpoints up to n are ready but for those that are down.
func verdict(n int, down ...int) *guard.Verdict {
	v := &guard.Verdict{}
	for _, o := range upTo(n) {
		state := inventory.StateReady
		if slices.Contains(down, o) {
			state = inventory.StateDown
		}
		v.Members = append(v.Members, inventory.Member{Address: address(o), State: state})
	}
	return v
}

// TestContract76ATurnTellsOfAServiceOnce: one that changes a thousand times between two turns
// costs no more than one that changed once.
func TestContract76ATurnTellsOfAServiceOnce(t *testing.T) {
	if got := writer.Touched(1000); got != 1 {
		t.Errorf("one Service is told of %d times in a turn, want once", got)
	}
}
