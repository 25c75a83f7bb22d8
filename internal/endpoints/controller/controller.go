package controller

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

const (
	// pause is the least time between two passes, so that a team that changes a Service
	// all the time makes ten a second.
	pause = 100 * time.Millisecond
	// retry is how long something that could not be made waits until it is tried again.
	retry = 5 * time.Second
	// seldom is how long nothing happens before a pass at the longest. At rest, passes
	// are most of what 1,000 Services cost.
	seldom = 30 * time.Second
	// Stalled is how long a loop may not have come round before the program counts as
	// dead (contract 31).
	Stalled = 30 * time.Second
	// rate is how many writes a second go out that are no losses, after those of ten
	// seconds at once: a restart or a large change of 1,000 Services need not wait.
	rate = 100
)

// Documents are the documents in effect.
type Documents interface {
	Set() documents.Set
	// Changed receives a value after the set changed.
	Changed() <-chan struct{}
}

// Supply is how one pool is read.
type Supply struct {
	// Make makes the source. It is tried again until it succeeds.
	Make                  func() (Origin, error)
	Free                  bool
	Rules                 filter.Rules
	PollInterval, Timeout time.Duration
}

// Origin is a source, and what goes with it.
type Origin struct {
	Source pool.Source
	// Changed receives a value when the next read will differ, Run has to run beside the
	// source, and Warnings tell what is odd about the remote side; nil where there is no
	// such thing.
	Changed  <-chan struct{}
	Run      func(context.Context) error
	Warnings func() []string
	// Follow says where the Pods of a remote Service are until its context ends, while Run
	// runs; nil where the pool has no way to the remote cluster.
	Follow func(context.Context, inventory.RemoteService) pool.Placer
}

// GroupCheck is how the endpoints of one group are checked and judged.
type GroupCheck struct {
	// Prober is nil where nothing is checked. Groups with the same Key share checks.
	Prober  pool.Prober
	Key     string
	Policy  guard.Policy
	Timeout time.Duration
	// HoldPort is 0 where no connection is held.
	HoldPort uint16
	// Trouble is why checks are not made as the documents say now; it may be nil.
	Trouble func() error
}

// Hub watches the local cluster, and keeps a store for each target.
type Hub interface {
	// Watch makes one more namespace be watched.
	Watch(namespace string)
	// Local returns what the watches say.
	Local() assign.Local
	// Changed receives a value after a Local changed.
	Changed() <-chan struct{}
	// Find returns the namespaces with slices of ours, also those that are not watched.
	Find(ctx context.Context) ([]string, error)
	// Open returns the store of a target.
	Open(of publish.Target) (Store, error)
	// Run watches until ctx ends. Writes after that lose their connection.
	Run(ctx context.Context) error
}

// Store is what is kept for one target.
type Store interface {
	writer.Store
	// Follow calls a function when Load's answer may have changed by another hand.
	Follow(changed func())
	// Release ends the store, after its Loads and Writes.
	Release()
}

// Options are what a Server is made of.
type Options struct {
	Documents Documents
	// Watch keeps the documents current until its context ends; nil where they never change.
	Watch func(ctx context.Context) error
	// Hub watches the local cluster; Run runs it. Fence goes around every store.
	Hub   Hub
	Fence func(writer.Store) writer.Store
	// Bounds are the namespaces that documents in the API server may be about, none where
	// these are all: a kind that is missing may have slices there.
	Bounds []string
	// Leaving are namespaces that no document names any more: what is published there is
	// emptied, also by a process that has not seen them named.
	Leaving []string
	// Labels reads the labels of all namespaces. It is called where a pool selects
	// namespaces by labels.
	Labels func(ctx context.Context) (map[string]map[string]string, error)
	// Supply and Checking turn documents into what reads and checks. An error concerns
	// that pool alone.
	Supply   func(pool *v1alpha1.EndpointPool) (Supply, error)
	Checking func(pool *v1alpha1.EndpointPool, check assign.Check) (GroupCheck, error)
	// ManagedBy and MaxEndpoints are those of every slice, Concurrency is how many checks
	// may be in flight, where there are descriptors for as many. MaxChecks is how many
	// distinct checks there are while some take over from others, 2 * assign.MaxChecks
	// where it is 0.
	ManagedBy    string
	MaxEndpoints int
	Concurrency  int
	MaxChecks    int
	// Lanes is how many writes may be in flight, writer.Lanes where it is 0.
	Lanes int
	// Connections are the held ones: how many there may be at most, and what opens one. Where
	// it is the zero value, there are as many as descriptors and checks leave, by TCP.
	Connections health.ConnectionsOptions
	// Asker asks other replicas about endpoints that this one does not reach; nil where there
	// are none.
	Asker *peers.Asker
	// Random draws jitter and the waits after failures: at least 0 and less than 1, from any
	// goroutine. It is rand.Float64 where it is nil.
	Random func() float64
	// DryRun decides and reports, and writes nothing.
	DryRun bool
	Logger *slog.Logger
	// Announce makes a notice known at a Service. It must not block, and may be nil.
	Announce func(key assign.Key, notice explain.Notice)
	// Observe is told what runs, and what comes of it.
	Observe Observe
}

// Server fills Services.
type Server struct {
	opts Options
	lost *knownDocuments
	// news says that a group, a reader or a store has something new to say.
	news    chan struct{}
	set     *writer.Set
	probes  *health.Hub
	holds   *health.Connections
	labels  *labels
	pools   *pools
	groups  *groups
	targets *targets
	teller  *teller
	// parts are what Run waits for.
	parts   sync.WaitGroup
	memory  assign.Memory
	beat    transport.Beat
	settled bool
	// pause is how long the loop waits at least until the next pass, and ran when it began.
	pause time.Duration
	ran   time.Time
	// handsOver says that slices or checks wait for others to take their place.
	handsOver atomic.Bool
	// sizes is how many nodes the pools had in the last pass, and sights what its watches were worth.
	sizes  map[string]int
	sights []assign.Sight
	// once is nil but in a single run.
	once *once
	// searched says that namespaces with slices that no document names were looked for.
	searched atomic.Bool
	// shown is what runs by the newest plan, nil before the first.
	shown atomic.Pointer[snapshot]
}

// New checks the options. It neither reads, checks nor writes anything.
func New(opts Options) (*Server, error) {
	if opts.Documents == nil || opts.Hub == nil || opts.Supply == nil || opts.Checking == nil {
		return nil, errors.New("serve: documents, a hub, and what makes sources and checks are needed")
	}
	if opts.Watch == nil {
		opts.Watch = func(context.Context) error { return nil }
	}
	if opts.Announce == nil {
		opts.Announce = func(assign.Key, explain.Notice) {}
	}
	opts.Observe.Fill()
	if opts.Fence == nil {
		opts.Fence = func(s writer.Store) writer.Store { return s }
	}
	opts.Concurrency, opts.MaxChecks = transport.SocketShare(opts.Concurrency), cmp.Or(opts.MaxChecks, 2*assign.MaxChecks)
	lost := &knownDocuments{Documents: opts.Documents, kinds: make(map[string]bool), asked: make(map[share]bool)}
	opts.Documents = lost
	s := &Server{opts: opts, lost: lost, news: make(chan struct{}, 1)}
	s.set = writer.NewSet(writer.SetOptions{Lanes: opts.Lanes, Rate: rate, Random: opts.Random})
	s.probes = health.NewHub(health.HubOptions{Concurrency: opts.Concurrency, MaxChecks: opts.MaxChecks})
	opts.Connections.Random = opts.Random
	opts.Connections.MaxConnections = cmp.Or(opts.Connections.MaxConnections, min(assign.MaxChecks, transport.SpareSockets(opts.Concurrency)))
	s.holds = health.NewConnections(opts.Connections)
	s.teller = newTeller(opts)
	s.labels = &labels{server: s}
	s.pools = &pools{server: s, running: make(map[string]*poolReader)}
	s.groups = &groups{server: s, running: make(map[assign.Group]*group), awaits: make(map[assign.Group]time.Time)}
	s.targets = &targets{server: s, running: make(map[assign.Key]*filler), broken: make(map[assign.Key]error), settling: newSettlement(s.teller.log)}
	return s, nil
}

// Run fills Services until ctx ends, and returns when everything it started has
// stopped. It leaves the slices as they are.
func (s *Server) Run(ctx context.Context) error {
	// The hub outlives the rest, so that a write under way can end.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	beside.Go(func() { _ = s.opts.Hub.Run(background) }) // it only ends with its context
	defer s.parts.Wait()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	s.ran = time.Now()
	s.parts.Go(func() { _ = s.opts.Watch(inner) })
	s.parts.Go(func() { s.probes.Run(inner) })
	s.parts.Go(func() { s.holds.Run(inner) })
	s.parts.Go(func() { s.labels.run(inner) })
	if s.once == nil {
		s.parts.Go(func() { s.findLeft(inner) })
	}
	s.parts.Go(func() { s.set.Run(inner) })
	defer s.beat.Ended()
	for s.await(inner, s.pass(inner, time.Now())) {
	}
	return nil
}

// signal asks for a pass.
func (s *Server) signal() { transport.Signal(s.news) }

// Decided reports whether a first plan was made and, with variables, a first decision.
func (s *Server) Decided() bool {
	now := s.shown.Load()
	return now != nil && !(now.documents.Variables && slices.ContainsFunc(now.groups, func(g *group) bool { return g == nil || !g.now().Decided }))
}

// Alive reports whether the loops, where they run, still come round.
func (s *Server) Alive() bool { return s.LoopAge() < Stalled }

// LoopAge returns how long ago the slowest of the loops came round last, 0 where none
// runs.
func (s *Server) LoopAge() time.Duration { return max(s.beat.Age(), s.set.Age(), s.groups.age()) }
