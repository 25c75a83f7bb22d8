package many_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

const (
	pollInterval  = 5 * time.Second
	checkInterval = 2 * time.Second
	checkTimeout  = time.Second
	managedBy     = "simulation"
)

// policy is that of every pool: the defaults.
var policy = guard.Policy{
	Rise: 2, Fall: 3, Interval: checkInterval, MaxSilentPercent: 50, FailOpen: true,
	Threshold: 60, PollInterval: pollInterval, MaxRemovalPercent: 50, DrainPeriod: 10 * time.Second,
}

// wish is a Service and what its team wants at first.
type wish struct {
	namespace, service string
	pools              []string
	port               uint16
	// annotated says that the wish is an annotation, and no document.
	annotated bool
}

func (w wish) key() assign.Key { return assign.Key{Namespace: w.namespace, Service: w.service} }

// wishes are those of three teams: two use one pool each, one uses both for one Service.
var wishes = []wish{
	{"shop", "web", []string{"blue"}, 30080, false},
	{"shop", "cart", []string{"blue"}, 30081, true},
	{"blog", "web", []string{"red"}, 30082, true},
	{"blog", "feed", []string{"red"}, 30082, false},
	{"pay", "checkout", []string{"blue", "red"}, 31080, false},
	{"pay", "ledger", []string{"red", "blue"}, 31081, false},
}

// dozens are further Services of the team that uses both.
func dozens() (all []wish) {
	for i := range 24 {
		pool := []string{"blue", "red"}[i%2]
		all = append(all, wish{"pay", fmt.Sprintf("s%d", i), []string{pool}, uint16(31080 + i%2), i%4 == 3})
	}
	return all
}

// machine is a node of a remote cluster, as it really is.
type machine struct {
	inventory.Node
	number int
	// silent and dead say how its workloads answer, by port; 0 is every port.
	silent, dead map[uint16]bool
	// since is when it or one of its workloads last changed.
	since time.Time
}

// cluster is a remote cluster and how its source behaves.
type cluster struct {
	name     string
	subnet   string
	allow    map[string]string // ports by namespace
	machines []*machine
	// trouble is what its source does until a time.
	trouble string
	until   time.Time
	// truncated is until when it was truncated last, lies since when it has been or failed after that.
	truncated, lies time.Time
}

// What a source does.
const (
	sourceFails     = "fails"
	sourceHangs     = "hangs"
	sourceEmpty     = "is empty"
	sourceTruncated = "is truncated"
	sourcePanics    = "panics"
)

// world is everything outside of the process.
type world struct {
	seed uint64
	t    *testing.T

	mu       sync.Mutex
	made     int
	clusters map[string]*cluster
	wishes   []wish
	// Documents are what the platform and the teams mean, should what the files then say, and files
	// what they say.
	controllertest.Documents[part]
	should, files map[string]string
	// pools are all that there ever were.
	pools map[string]source
	set   documents.Set
	// carrier is nil where a folder has the documents; inAPI are those of the API server.
	carrier *carrier
	inAPI   documents.Set
	edited  chan struct{}
	local   *local
	// rough is until when a Service is not there, or its slices may have another port.
	rough   map[string]time.Time
	process *process
	// known are the pools that this process has read a document of.
	known map[string]bool
	// named is since when the documents name what a Service may have, seen what was published at the
	// last look.
	named  map[string]map[netip.Addr]time.Time
	seen   map[string]map[netip.Addr]shownState
	oracle controllertest.Oracle
	trace  []string
	broken string
	begun  time.Time
}

// process is one run of the program.
type process struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// newWorld is a world of two clusters. In every fourth one there are dozens of Services.
func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		seed: seed, t: t, wishes: wishes, Documents: controllertest.NewDocuments[part](), files: make(map[string]string), pools: make(map[string]source),
		edited: make(chan struct{}, 1), rough: make(map[string]time.Time), named: make(map[string]map[netip.Addr]time.Time), seen: make(map[string]map[netip.Addr]shownState), begun: time.Now(),
		oracle: controllertest.Oracle{Joins: settled, Leaves: settled},
		clusters: map[string]*cluster{
			"blue": {name: "blue", subnet: "10.1.0.0/16", allow: map[string]string{"shop": "30080-30081", "pay": "31080-31081"}},
			"red":  {name: "red", subnet: "10.2.0.0/16", allow: map[string]string{"blog": "30082", "pay": "31080-31081"}},
		},
	}
	if w.local = newLocal(w); seed%2 == 0 {
		w.carrier = newCarrier()
	}
	if seed%4 == 3 {
		w.wishes = slices.Concat(wishes, dozens())
	}
	for _, name := range []string{"blue", "red"} {
		c := w.clusters[name]
		w.Pools[name] = part{c, 1, 0}
		for range 4 + w.dice(name).IntN(4) {
			w.join(c)
		}
	}
	for _, of := range w.wishes {
		w.Bindings[of.key().String()] = controllertest.Binding{Pools: of.pools}
		w.local.create(of)
	}
	w.write()
	return w
}

// Set and Changed are controller.Documents.
func (w *world) Set() documents.Set {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set
}

func (w *world) Changed() <-chan struct{} { return w.edited }

// join makes a machine. The lock is held.
func (w *world) join(c *cluster) *machine {
	w.made++
	prefix := map[string]byte{"blue": 1, "red": 2}[c.name]
	m := &machine{number: w.made, since: time.Now(), silent: make(map[uint16]bool), dead: make(map[uint16]bool)}
	m.Node = inventory.Node{
		ID: fmt.Sprintf("id-%d", w.made), Name: fmt.Sprintf("%s-%d", c.name, w.made), Ready: true, Worker: true,
		Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, prefix, byte(w.made >> 8), byte(w.made)})},
	}
	c.machines = append(c.machines, m)
	w.tell(c)
	return m
}

// Read implements pool.Source.
func (s source) Read(ctx context.Context) ([]inventory.Node, error) {
	w, c := s.w, s.part.cluster
	w.mu.Lock()
	trouble := c.trouble
	if time.Now().After(c.until) {
		trouble = ""
	}
	var nodes []inventory.Node
	for i, m := range s.part.machines() {
		if trouble == "" || trouble == sourceTruncated && i == 0 {
			nodes = append(nodes, m.Node)
		}
	}
	w.mu.Unlock()
	switch trouble {
	case sourceFails:
		return nil, fmt.Errorf("the API of %s is away", c.name)
	case sourceHangs:
		<-ctx.Done()
		time.Sleep(w.dice("read", s.pool).odd())
		return nil, ctx.Err()
	case sourcePanics:
		panic("a defect of the source of " + c.name)
	}
	time.Sleep(w.dice("read", s.pool).odd())
	return nodes, nil
}

// source is that of a pool.
type source struct {
	w       *world
	pool    string
	part    part
	changed chan struct{}
}

// tell tells the sources of a cluster that something changed. The lock is held.
func (w *world) tell(c *cluster) {
	for _, name := range slices.Sorted(maps.Keys(w.pools)) {
		if s := w.pools[name]; s.part.cluster == c {
			leave(s.changed)
		}
	}
}

// prober checks one port of the machines of every cluster.
type prober struct {
	w    *world
	port uint16
}

// Check implements pool.Prober.
func (p prober) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	r := inventory.Result{Address: addr, At: time.Now()}
	p.w.mu.Lock()
	if !p.w.clusters["blue"].allows(addr, p.port) && !p.w.clusters["red"].allows(addr, p.port) { // pools share checks
		p.w.breach("%s port %d is checked, which no pool has", addr, p.port)
	}
	m := p.w.at(addr)
	silent, works := m == nil || m.silent[0] || m.silent[p.port], m.works(p.port)
	p.w.mu.Unlock()
	takes := p.w.dice("check", addr, p.port).odd()
	switch {
	case works:
		time.Sleep(takes)
		r.Outcome, r.Reason = inventory.Pass, inventory.Ready
	case silent:
		select {
		case <-ctx.Done():
			time.Sleep(takes)
		case <-time.After(checkTimeout + takes):
		}
		r.Outcome, r.Reason = inventory.Silent, inventory.ProbeTimeout
	default:
		time.Sleep(takes)
		r.Outcome, r.Reason = inventory.Refused, inventory.ProbeRefused
	}
	r.Latency = time.Since(r.At)
	return r
}

// works reports whether a workload answers at the port of the machine.
func (m *machine) works(port uint16) bool {
	return m != nil && !m.dead[0] && !m.dead[port] && !m.silent[0] && !m.silent[port]
}

// cluster is the one that has the machine.
func (m *machine) cluster() string {
	name, _, _ := strings.Cut(m.Name, "-")
	return name
}

// at returns the machine that has an address, nil where there is none.
func (w *world) at(addr netip.Addr) *machine {
	for _, c := range w.clusters {
		for _, m := range c.machines {
			if m.Addresses[0] == addr {
				return m
			}
		}
	}
	return nil
}

// allows reports whether any namespace may use the port of the pools of the cluster, and these have
// the address. The documents of this world only ever forbid what they always forbade.
func (c *cluster) allows(addr netip.Addr, port uint16) bool {
	ports := map[string][]uint16{"blue": {30080, 30081, 31080, 31081}, "red": {30082, 31080, 31081}}[c.name]
	return netip.MustParsePrefix(c.subnet).Contains(addr) && slices.Contains(ports, port)
}

// start starts the program. The lock is not held.
func (w *world) start() {
	server, err := controller.New(controller.Options{
		Documents: w, Watch: func(ctx context.Context) error { <-ctx.Done(); return nil }, Hub: w.local.hub(),
		Supply: func(pool *v1alpha1.EndpointPool) (controller.Supply, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			s := w.pools[pool.Name]
			return controller.Supply{
				Make: func() (controller.Origin, error) {
					return controller.Origin{Source: s, Changed: s.changed}, nil
				},
				Rules: filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix(pool.Spec.Subnets[0])}}, PollInterval: pollInterval, Timeout: 3 * time.Second,
			}, nil
		},
		Checking: func(pool *v1alpha1.EndpointPool, check assign.Check) (controller.GroupCheck, error) {
			time.Sleep(w.dice("begin", pool.Name, check.Port).odd()) // or groups would check at the same instants
			return controller.GroupCheck{Prober: prober{w, check.Port}, Key: fmt.Sprint(check.Port), Policy: policy, Timeout: checkTimeout}, nil
		},
		ManagedBy: managedBy, MaxEndpoints: 100, Concurrency: 100, Logger: w.logger(), Random: func() float64 { return w.dice("jitter").Float64() },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = server.Run(ctx)
	}()
	w.mu.Lock()
	w.process, w.known = p, make(map[string]bool)
	w.oracle.Begin()
	w.mu.Unlock()
}

// logger notes what the program says, with -log.
func (w *world) logger() *slog.Logger {
	if !*logs {
		return nil
	}
	return slog.New(slog.NewTextHandler(writer(func(text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.note("log: %s", text)
	}), nil))
}

// writer takes what is written to it.
type writer func(text string)

// Write implements io.Writer.
func (f writer) Write(p []byte) (int, error) {
	f(strings.TrimSpace(string(p)))
	return len(p), nil
}

// end ends the program and waits for it.
func (w *world) end() {
	w.mu.Lock()
	p := w.process
	w.process = nil
	w.mu.Unlock()
	if p != nil {
		p.stop()
		<-p.ended
	}
}

// note keeps what happened for the story of a failure. The lock is held.
func (w *world) note(format string, values ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%9.3fs ", time.Since(w.begun).Seconds())+fmt.Sprintf(format, values...))
}

// breach notes the first promise that was broken. The lock is held.
func (w *world) breach(format string, values ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, values...)
		w.note("BROKEN: %s", w.broken)
	}
}

// dice are random numbers that depend on the seed, on what they are for and on the time, and not on
// what else is drawn at that instant: a seed replays.
type dice struct{ *rand.Rand }

func (w *world) dice(what ...any) dice {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, time.Since(w.begun), what)
	return dice{rand.New(rand.NewPCG(w.seed, h.Sum64()))}
}

// odd is a time that nothing else takes: less than two milliseconds.
func (d dice) odd() time.Duration { return time.Duration(1 + d.IntN(2_000_000)) }

// leave leaves one value, however many came before.
func leave(in chan struct{}) {
	select {
	case in <- struct{}{}:
	default:
	}
}
