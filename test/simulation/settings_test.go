//go:build simulation

package simulation_test

import (
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
)

// settings are what an operator configured, and how rough the storm is.
type settings struct {
	policy                             guard.Policy
	poll, sourceTimeout, healthTimeout time.Duration
	concurrency, maxEndpoints, nodes   int
	dual, signals, free, echoes        bool
	// connections bounds the held connections; 0 where none is held.
	connections int
	// election says that two replicas run for one Lease, forced that two processes
	// write without one.
	election, forced bool
	storm, gap       time.Duration
	// pair says that another replica stands by, with a network of its own.
	pair bool
	// scene is a course of events in place of random ones; empty for random ones.
	scene string
}

// drawSettings draws them: mostly the defaults.
func drawSettings(r *rand.Rand, storm time.Duration) settings {
	s := settings{
		policy: guard.Policy{
			Rise: 2, Fall: 3, Interval: 2 * time.Second, MaxSilentPercent: 50, FailOpen: r.IntN(8) > 0,
			Threshold: 10, MaxRemovalPercent: 50, DrainPeriod: 30 * time.Second,
		},
		poll: 30 * time.Second, sourceTimeout: 20 * time.Second, healthTimeout: time.Second,
		concurrency: 256, maxEndpoints: pick(r, 100, 100, 3, 5), nodes: 1 + r.IntN(8),
		dual: r.IntN(3) == 0, signals: r.IntN(2) == 0,
		storm: storm, gap: pick(r, 2*time.Second, 8*time.Second, 20*time.Second, time.Minute),
	}
	if r.IntN(2) == 0 {
		s.policy.Rise, s.policy.Fall = 1+r.IntN(3), 1+r.IntN(4)
		s.policy.Threshold = 2 + r.IntN(4)
		s.policy.DrainPeriod = pick(r, 5*time.Second, time.Second, 0)
		s.poll = pick(r, 5*time.Second, 10*time.Second)
		s.sourceTimeout = s.poll
	}
	s.policy.HealthOff = r.IntN(10) == 0
	s.election = r.IntN(5) == 0
	s.forced = !s.election && r.IntN(10) == 0
	s.free, s.echoes = r.IntN(4) == 0, r.IntN(2) == 0
	if r.IntN(5) == 0 {
		s.nodes, s.maxEndpoints = 8+r.IntN(14), pick(r, 1, 2)
	}
	s.drawScene(r)
	return s
}

// pick returns one of several.
func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// rules allow a documentation range as well, which nothing may lift.
func rules() filter.Rules {
	var rules filter.Rules
	for _, s := range []string{"10.0.0.0/24", "192.0.2.0/24", "fd00:1::/64"} {
		rules.Subnets = append(rules.Subnets, netip.MustParsePrefix(s))
	}
	return rules
}

// newWorld makes a calm world of healthy nodes.
func newWorld(seed uint64, storm time.Duration) (*world, error) {
	w := &world{
		seed: seed, start: time.Now(), backends: map[netip.Addr]*backend{}, rough: map[string]time.Time{},
		stuck: map[string]fault{}, cached: map[string]publish.Slice{}, fresh: map[string]bool{}, edited: map[string]time.Time{},
		calls: map[string]int{}, counts: map[string]int{}, digest: fnv.New64a(),
	}
	w.odd = w.dice("odd", 0)
	r := w.dice("settings", 0)
	w.set = drawSettings(r, storm)
	w.sentences = w.set.sentences()
	w.drawPair()
	w.set.connections = pick(w.dice("held", 0), 0, 0, 0, 0, 1000, 1000, 1000, 2)
	w.target = publish.Target{
		Namespace: "default", Service: "web", SliceName: "web-remote", ManagedBy: "simulation",
		Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}, MaxEndpoints: w.set.maxEndpoints,
	}
	w.service = publish.Service{UID: "uid-1", Ports: []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80}}}
	store, err := store.NewMemory(store.MemoryOptions{Target: w.target, Service: w.service})
	w.store = store
	if w.set.election {
		w.replicas = make([]*replica, 2)
	}
	if w.set.forced {
		w.roughen("slices", time.Now().Add(1000*time.Hour)) // each is another client for the other, in the calm too
	}
	for range w.set.nodes {
		w.join(w.free(r)...)
	}
	return w, err
}

// options are those of a daemon in this world.
func (w *world) options(p *process) controllertest.Options {
	options := controllertest.Options{
		Source: source{p}, Prober: prober{p}, Store: shelf{p}, StoreChanged: p.storeChanged, Target: w.target, Rules: rules(), Policy: w.set.policy,
		PollInterval: w.set.poll, SourceTimeout: w.set.sourceTimeout, HealthTimeout: w.set.healthTimeout,
		Concurrency: w.set.concurrency, Random: p.random,
		FreeReads: w.set.free, Announcer: p, Logger: slog.New(modeLines{p}),
	}
	if w.set.connections > 0 {
		options.Hold, options.Connections = true, health.ConnectionsOptions{MaxConnections: w.set.connections, Dial: p.dial}
	}
	if w.set.policy.HealthOff {
		options.Prober = nil
	}
	if w.pair != nil {
		options.Asker = p.asker
	}
	if w.set.signals {
		options.SourceChanged = p.sourceChanged
	}
	return options
}

// random is what a process draws its jitter from. Each has its own numbers: what one
// that stops still draws changes nothing for the next.
func (p *process) random() float64 {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return p.jitter.Float64()
}
