package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// calmCluster is a cluster with Services of the same endpoints, in which nothing changes.
type calmCluster struct {
	set      documents.Set
	services []assign.Service
	never    chan struct{}
	// right says that the slices are as they should be at the start.
	right  bool
	broken atomic.Bool // slices cannot be read
	away   atomic.Bool // the source cannot be read
	reads  atomic.Int64

	mu     sync.Mutex
	follow func() // says that slices changed by another hand
	plans  int    // how often what the watches say was asked for
	writes []publish.Write
}

func newResting(services ...string) *calmCluster {
	text := `apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: blue}
spec:
  source: {static: {nodes: [{name: a, addresses: [10.0.0.1]}]}}
  subnets: [10.0.0.0/24]
  allow: [{namespaces: [shop], ports: ["80"]}]
`
	r := &calmCluster{never: make(chan struct{})}
	for _, name := range services {
		text += "---\napiVersion: endpoints.ablmnzde.github.io/v1alpha1\nkind: EndpointBinding\nmetadata: {name: " + name + ", namespace: shop}\nspec: {pools: [{name: blue}], ports: [{port: 80}]}\n"
		r.services = append(r.services, assign.Service{Key: assign.Key{Namespace: "shop", Service: name}, Service: publish.Service{UID: "1", Ports: []publish.ServicePort{{Protocol: publish.TCP, Port: 80, TargetPort: 80}}}})
	}
	r.set = documents.Advance(documents.Set{}, documents.Folder{Files: []documents.File{{Name: "all.yaml", Data: []byte(text)}}})
	return r
}

func (r *calmCluster) Set() documents.Set                               { return r.set }
func (r *calmCluster) Changed() <-chan struct{}                         { return r.never }
func (r *calmCluster) Watch(string)                                     {}
func (r *calmCluster) Find(context.Context) ([]string, error)           { return nil, nil }
func (r *calmCluster) Open(of publish.Target) (controller.Store, error) { return calmStore{r, of}, nil }
func (r *calmCluster) Run(ctx context.Context) error                    { <-ctx.Done(); return nil }

// calmStore is the store of one target.
type calmStore struct {
	*calmCluster
	of publish.Target
}

func (calmStore) Release() {}

func (h calmStore) Follow(changed func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calmCluster.follow = changed
}

func (h calmStore) Load(context.Context) (publish.State, error) {
	state := publish.State{Service: h.services[0].Service}
	if h.broken.Load() {
		return publish.State{}, errors.New("the API server is away")
	}
	if h.right {
		state.Slices = []publish.Slice{{
			Name: h.of.SliceName, Owner: "1", Version: "1", Ports: []publish.Port{{Protocol: publish.TCP, Number: 80}},
			Endpoints: []inventory.Member{{Address: netip.MustParseAddr("10.0.0.1"), State: inventory.StateReady}},
		}}
	}
	return state, nil
}

func (r *calmCluster) Local() assign.Local {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plans++
	return assign.Local{Services: r.services, Sights: []assign.Sight{{Namespace: "shop", Complete: true}}}
}

func (r *calmCluster) Write(_ context.Context, w publish.Write) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = append(r.writes, w)
	return "1", nil
}

// counted returns how many plans were made in a stretch of time.
func (r *calmCluster) counted(stretch time.Duration) int {
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.plans
	}
	before := count()
	time.Sleep(stretch)
	synctest.Wait()
	return count() - before
}

// passProber is a prober for which every endpoint works.
type passProber struct{}

func (passProber) Check(_ context.Context, addr netip.Addr) inventory.Result {
	return inventory.Result{Address: addr, At: time.Now(), Outcome: inventory.Pass, Reason: inventory.Ready}
}

// source is one that may be away.
type source struct {
	*calmCluster
	answers
}

func (s source) Read(ctx context.Context) ([]inventory.Node, error) {
	s.reads.Add(1)
	if s.away.Load() {
		return nil, errors.New("the source is away")
	}
	return s.answers.Read(ctx)
}

// server fills the Service; wrong is why its endpoints cannot be checked, nil if they can.
func (r *calmCluster) server(t *testing.T, wrong error) *controller.Server {
	t.Helper()
	return r.checked(t, passProber{}, wrong)
}

func (r *calmCluster) checked(t *testing.T, prober pool.Prober, wrong error) *controller.Server {
	t.Helper()
	server, err := controller.New(r.options(prober, wrong))
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func (r *calmCluster) options(prober pool.Prober, wrong error) controller.Options {
	return controller.Options{
		Documents: r, Hub: r, Watch: r.Run,
		Supply: func(*v1alpha1.EndpointPool) (controller.Supply, error) {
			node := inventory.Node{Name: "a", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}, Ready: true, Worker: true}
			return controller.Supply{
				Make: func() (controller.Origin, error) { return controller.Origin{Source: source{r, answers{node}}}, nil }, Free: true,
				Rules: filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}, PollInterval: time.Minute, Timeout: time.Second,
			}, nil
		},
		Checking: func(*v1alpha1.EndpointPool, assign.Check) (controller.GroupCheck, error) {
			policy := guard.Policy{Rise: 1, Fall: 1, Interval: time.Second, MaxSilentPercent: 50, FailOpen: true, MaxRemovalPercent: 50, Threshold: 10, PollInterval: time.Minute, DrainPeriod: time.Minute}
			return controller.GroupCheck{Prober: prober, Key: "80", Policy: policy, Timeout: time.Second}, wrong
		},
		ManagedBy: "us", MaxEndpoints: 100, Concurrency: 10,
	}
}

// TestContract96AtRestPlansAreMadeSeldom: a plan of 1,000 Services takes milliseconds. The
// loop still comes round, and what cannot be made is tried again every five seconds.
func TestContract96AtRestPlansAreMadeSeldom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wrong       error
		least, most int
	}{
		"everything runs":            {nil, 9, 11},
		"checks that cannot be made": {errors.New("no file ca.crt"), 55, 61},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				r := newResting("web")
				server := r.server(t, c.wrong)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { _ = server.Run(ctx) }()
				r.counted(time.Minute)
				if got := r.counted(5 * time.Minute); got < c.least || got > c.most {
					t.Errorf("got %d plans in five minutes, want %d to %d", got, c.least, c.most)
				}
				if got := server.LoopAge(); got > 6*time.Second {
					t.Errorf("got a loop that came round %v ago", got)
				}
				ready := slices.ContainsFunc(r.writes, func(w publish.Write) bool { return len(w.Slice.Endpoints) == 1 })
				if ready != (c.wrong == nil) {
					t.Errorf("got writes %+v, want one with an endpoint: %t", r.writes, c.wrong == nil)
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}

// TestContract96TheRevisionGrowsWithWhatIsShown, and not with checks that say what was known.
func TestContract96TheRevisionGrowsWithWhatIsShown(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r, down := newResting("web"), &switchProber{}
		server := r.checked(t, down, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = server.Run(ctx) }()
		r.counted(time.Minute)
		before := server.Revision()
		r.counted(5 * time.Minute)
		if grew := server.Revision() - before; grew < 14 || grew > 60 {
			t.Errorf("the revision grew by %d in five minutes at rest, want 14 to 60: two passes and a read a minute, and what comes of them", grew)
		}
		mode := func(s *controller.Snapshot) any { return s.Groups[0].State.Verdict.Mode }
		unread := func(s *controller.Snapshot) any { return s.Targets[0].Fills[0].State.LoadErr != nil }
		blind := func(s *controller.Snapshot) any { return s.Groups[0].State.Source.LastErr != nil }
		for _, c := range []struct {
			what   string
			change func()
			of     func(*controller.Snapshot) any
		}{
			{"no endpoint passes", func() { down.is.Store(true) }, mode},
			{"all pass", func() { down.is.Store(false) }, mode},
			{"the slices cannot be read", func() { r.broken.Store(true); r.follow() }, unread},
			{"they can", func() { r.broken.Store(false); r.follow() }, unread},
			{"the source cannot be read", func() { r.away.Store(true) }, blind},
			{"it can", func() { r.away.Store(false) }, blind},
		} {
			c.change()
			changes := 0
			for range 700 {
				before, shown := server.Revision(), c.of(server.Snapshot())
				r.counted(100 * time.Millisecond)
				if c.of(server.Snapshot()) == shown {
					continue
				}
				if changes++; server.Revision() == before {
					t.Errorf("%s: that is shown, and the revision stayed", c.what)
				}
			}
			if changes == 0 {
				t.Errorf("%s: that is not shown", c.what)
			}
		}
		cancel()
		synctest.Wait()
	})
}

// TestContract52TargetsCostNoReadsChecksOrGoroutines is not parallel: it counts the goroutines
// of the process.
func TestContract52TargetsCostNoReadsChecksOrGoroutines(t *testing.T) {
	type cost struct {
		reads, checks int64
		goroutines    int
	}
	var costs []cost
	for _, n := range []int{1, 100} {
		bubble.Test(t, func(t *testing.T) {
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprint("web-", i)
			}
			r, prober := newResting(names...), &countProber{}
			r.right = true
			options := r.options(prober, nil)
			options.Random = func() float64 { return 0.5 }
			server, err := controller.New(options)
			if err != nil {
				t.Fatal(err)
			}
			before := runtime.NumGoroutine()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _ = server.Run(ctx) }()
			r.counted(time.Minute)
			reads, checks := r.reads.Load(), prober.checks.Load()
			r.counted(10 * time.Minute)
			costs = append(costs, cost{r.reads.Load() - reads, prober.checks.Load() - checks, runtime.NumGoroutine() - before})
			if got := len(server.Snapshot().Targets); got != n {
				t.Errorf("got %d targets, want %d", got, n)
			}
			cancel()
			synctest.Wait()
		})
	}
	one, hundred := costs[0], costs[1]
	if more := hundred.goroutines - one.goroutines; one.reads != hundred.reads || one.checks != hundred.checks || more > 10 { // those of other tests end meanwhile
		t.Errorf("got %+v in ten minutes for one target and for 100, want the same", costs)
	}
}

// countProber is a prober that counts.
type countProber struct {
	passProber
	checks atomic.Int64
}

func (c *countProber) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	c.checks.Add(1)
	return c.passProber.Check(ctx, addr)
}

// switchProber is a prober for which every endpoint works, or none.
type switchProber struct{ is atomic.Bool }

func (d *switchProber) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	result := passProber{}.Check(ctx, addr)
	if d.is.Load() {
		result.Outcome, result.Reason = inventory.Refused, inventory.ProbeRefused
	}
	return result
}

// TestContract96TargetsWithTheSameEndpointsShareOneList: what 1,000 Services publish is
// kept once, also where each of them was read for itself, and nothing was written since.
func TestContract96TargetsWithTheSameEndpointsShareOneList(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r := newResting("a", "b", "c", "d", "e", "f", "g", "h")
		r.right = true
		server := r.server(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = server.Run(ctx) }()
		r.counted(time.Minute)
		// A target may have the list that was read, or that of the verdict.
		lists := make(map[*inventory.Member]bool)
		for _, of := range server.Snapshot().Targets {
			lists[&of.Fills[0].State.State.Slices[0].Endpoints[0]] = true
		}
		if len(lists) > 2 || len(r.writes) != 0 {
			t.Errorf("got %d lists and writes %+v, want two lists for eight targets at most, and no write", len(lists), r.writes)
		}
		cancel()
		synctest.Wait()
	})
}

// TestContract96WhatIsReadAtTheStartIsKeptOnce, also where no verdict says the same.
func TestContract96WhatIsReadAtTheStartIsKeptOnce(t *testing.T) {
	t.Parallel()
	read := func(addresses ...string) []publish.Slice {
		var members []inventory.Member
		for _, address := range addresses {
			members = append(members, inventory.Member{Address: netip.MustParseAddr(address), State: inventory.StateReady})
		}
		return []publish.Slice{{Endpoints: members}, {}}
	}
	share, _ := controller.Sharing()
	first, same, other, again := read("10.0.0.1", "10.0.0.2", "10.0.0.4"), read("10.0.0.1", "10.0.0.2", "10.0.0.4"), read("10.0.0.1", "10.0.0.3", "10.0.0.4"), read("10.0.0.1", "10.0.0.3", "10.0.0.4")
	for _, each := range [][]publish.Slice{first, same, other, again} {
		share(each)
	}
	if &first[0].Endpoints[0] != &same[0].Endpoints[0] || &other[0].Endpoints[0] != &again[0].Endpoints[0] {
		t.Error("equal lists are kept twice")
	}
	if other[0].Endpoints[1].Address != netip.MustParseAddr("10.0.0.3") {
		t.Errorf("got %v, want what was read", other[0].Endpoints)
	}
}

// TestContract33ListsThatWereReadAreForgotten: a Service that changes all the time is always about to be read.
func TestContract33ListsThatWereReadAreForgotten(t *testing.T) {
	t.Parallel()
	share, seen := controller.Sharing()
	for i := range 5000 {
		share([]publish.Slice{{Endpoints: []inventory.Member{{Address: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})}}}})
	}
	if got := seen(); got > 1100 {
		t.Errorf("%d lists are remembered", got)
	}
}

// TestContract31OnlyALoopThatStandsStillIsDead: here a check cannot be made, because the
// function that makes it does not return.
func TestContract31OnlyALoopThatStandsStillIsDead(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r, stuck := newResting("web"), make(chan struct{})
		options := r.options(passProber{}, nil)
		checking := options.Checking
		options.Checking = func(of *v1alpha1.EndpointPool, check assign.Check) (controller.GroupCheck, error) {
			<-stuck
			return checking(of, check)
		}
		server, err := controller.New(options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = server.Run(ctx) }()
		for _, want := range []bool{true, false} {
			if r.counted(controller.Stalled * 3 / 4); server.Alive() != want {
				t.Errorf("got alive %t after %v", !want, server.LoopAge())
			}
		}
		close(stuck)
		if r.counted(time.Hour); !server.Alive() {
			t.Errorf("got a loop that came round %v ago", server.LoopAge())
		}
		cancel()
		<-done
		if r.counted(2 * controller.Stalled); !server.Alive() {
			t.Error("got a loop that ended as one that stands still")
		}
	})
}

// TestContract53AGroupWhoseFirstDecisionPanicsIsMadeAnew, although nothing else asks for a pass.
func TestContract53AGroupWhoseFirstDecisionPanicsIsMadeAnew(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r := newResting("web")
		options := r.options(passProber{}, nil)
		checking := options.Checking
		var panicked atomic.Bool
		options.Checking = func(p *v1alpha1.EndpointPool, check assign.Check) (controller.GroupCheck, error) {
			made, err := checking(p, check)
			if panicked.CompareAndSwap(false, true) {
				made.Prober = nil // a defect: nothing can be checked
			}
			return made, err
		}
		r.runs(t, options)
		r.counted(time.Minute)
		if len(r.writes) != 1 || len(r.writes[0].Slice.Endpoints) != 1 {
			t.Errorf("got writes %+v, want one with the endpoint", r.writes)
		}
	})
}

// TestContract53APanicOfWhatTellsHoldsNothingUp: an endpoint that dies is down within seconds.
func TestContract53APanicOfWhatTellsHoldsNothingUp(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*controller.Options){
		"of a group": func(o *controller.Options) {
			o.Observe.OfGroup = func(assign.Group) func(pool.Outcome, explain.Pool) {
				return func(pool.Outcome, explain.Pool) { panic("a defect") }
			}
		},
		"of a target": func(o *controller.Options) {
			o.Observe.OfTarget = func(assign.Key, bool) func(writer.Outcome) { return func(writer.Outcome) { panic("a defect") } }
		},
		"of the log": func(o *controller.Options) { o.Announce = func(assign.Key, explain.Notice) { panic("a defect") } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				r, prober, log := newResting("web"), new(mortal), new(strings.Builder)
				options := r.options(prober, nil)
				options.Logger = slog.New(slog.NewTextHandler(log, nil))
				supply := options.Supply
				options.Supply = func(p *v1alpha1.EndpointPool) (controller.Supply, error) {
					made, err := supply(p)
					var nodes answers
					for i, name := range []string{"a", "b", "c"} {
						nodes = append(nodes, inventory.Node{Name: name, Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})}, Ready: true, Worker: true})
					}
					made.Make = func() (controller.Origin, error) { return controller.Origin{Source: source{r, nodes}}, nil }
					return made, err
				}
				spoil(&options)
				end := r.runs(t, options)
				r.counted(10 * time.Minute)
				prober.dead.Store(true)
				r.counted(5 * time.Second)
				last := r.writes[len(r.writes)-1].Slice.Endpoints
				if len(last) != 3 || last[0].State != inventory.StateDown {
					t.Errorf("got %+v in the last of %d writes, want that the first endpoint is down", last, len(r.writes))
				}
				end()
				if told := strings.Count(log.String(), "telling what happened panicked"); told < 1 || told > 10 || !strings.Contains(log.String(), "a defect") {
					t.Errorf("the panic is told %d times:\n%.3000s", told, log)
				}
			})
		})
	}
}

// mortal is a prober for which the endpoint 10.0.0.1 may die.
type mortal struct{ dead atomic.Bool }

func (m *mortal) Check(_ context.Context, addr netip.Addr) inventory.Result {
	r := inventory.Result{Address: addr, At: time.Now(), Outcome: inventory.Pass, Reason: inventory.Ready}
	if m.dead.Load() && addr == netip.MustParseAddr("10.0.0.1") {
		r.Outcome, r.Reason = inventory.Refused, inventory.ProbeRefused
	}
	return r
}

// runs runs a server until it is ended, or the test ends.
func (r *calmCluster) runs(t *testing.T, options controller.Options) (end func()) {
	t.Helper()
	server, err := controller.New(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Run(ctx)
	}()
	end = func() {
		cancel()
		<-done
	}
	t.Cleanup(end)
	return end
}

// TestManyMistakesAreCounted: many may write documents, and 300 are wrong at once.
func TestManyMistakesAreCounted(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r, log := newResting("web"), new(strings.Builder)
		var wrong strings.Builder
		for i := range 300 {
			fmt.Fprintf(&wrong, "---\napiVersion: endpoints.ablmnzde.github.io/v1alpha1\nkind: EndpointBinding\nmetadata: {name: b%d, namespace: shop}\nspec: {pools: []}\n", i)
		}
		r.set = documents.Advance(r.set, documents.Folder{Files: []documents.File{{Name: "wrong.yaml", Data: []byte(wrong.String())}}})
		options := r.options(passProber{}, nil)
		options.Logger = slog.New(slog.NewTextHandler(log, nil))
		end := r.runs(t, options)
		r.counted(time.Minute)
		end()
		if told := strings.Count(log.String(), "mistake in a document"); told != 100 || !strings.Contains(log.String(), "mistakes=200") {
			t.Errorf("%d mistakes are told, want 100, and that there are 200 more", told)
		}
	})
}
