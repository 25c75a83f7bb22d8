package syncer

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/descriptors"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/target"
)

// Source reads the inventory of the remote cluster.
type Source = pool.Source

// Prober checks the health of one address.
type Prober = pool.Prober

// Store holds the slices.
type Store = target.Store

// Announcer makes notices known at the Service. It must not block.
type Announcer interface {
	Announce(notice narration.Notice)
}

// Stalled is how long a loop may not have come round before the program counts as
// dead (contract 31).
const Stalled = 30 * time.Second

// Options are what a Syncer is made of.
type Options struct {
	Source Source
	// SourceChanged and StoreChanged receive a value when the next answer of Source
	// or Store will differ; nil where they cannot know.
	SourceChanged, StoreChanged <-chan struct{}
	// FreeReads says that reading costs nothing; see pool.Options.
	FreeReads bool
	// Prober is nil with HEALTH_CHECK_MODE=off.
	Prober Prober
	Store  Store
	// Lanes is how many writes may be in flight; see target.Options.
	Lanes  int
	Target plan.Target
	Rules  filter.Rules
	Policy guard.Policy

	// PollInterval is SOURCE_POLL_INTERVAL, SourceTimeout bounds one read.
	PollInterval, SourceTimeout time.Duration
	// HealthTimeout is HEALTH_CHECK_TIMEOUT, Concurrency how many probes may be
	// in flight. The interval is in Policy.
	HealthTimeout time.Duration
	Concurrency   int
	// Hold says whether an idle connection to each endpoint is held.
	Hold pool.HoldOptions
	// DryRun decides and reports, and writes nothing.
	DryRun bool
	Logger *slog.Logger
	// Announcer gets the notices; it may be nil.
	Announcer Announcer
	// Random draws the jitter of reads and the waits after failures: at least 0
	// and less than 1, from any goroutine. It is rand.Float64 where it is nil.
	Random func() float64
}

// Syncer keeps the slices of one target equal to the healthy nodes of one pool.
type Syncer struct {
	opts    Options
	pool    *pool.Pool
	targets *target.Set
	target  *target.Target
	board   *board
	// recovered gets what the slices publish at first.
	recovered chan plan.State
}

// New checks the options. It neither reads nor writes anything.
func New(opts Options) (*Syncer, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	opts.Concurrency = descriptors.Share(opts.Concurrency)
	s := &Syncer{opts: opts, board: newBoard(opts), recovered: make(chan plan.State, 1)}
	var poolErr, targetErr error
	s.pool, poolErr = pool.New(pool.Options{
		Source: opts.Source, Changed: opts.SourceChanged, FreeReads: opts.FreeReads,
		Prober: opts.Prober, Rules: opts.Rules, Policy: opts.Policy,
		PollInterval: opts.PollInterval, SourceTimeout: opts.SourceTimeout,
		HealthTimeout: opts.HealthTimeout, Concurrency: opts.Concurrency, Hold: opts.Hold,
		Observe: s.board.pooled, Random: opts.Random,
	})
	s.targets, targetErr = target.NewSet(target.SetOptions{Lanes: opts.Lanes, Random: opts.Random})
	if targetErr == nil {
		s.target, targetErr = s.targets.Add(s.only())
	}
	if err := errors.Join(poolErr, targetErr); err != nil {
		return nil, err
	}
	return s, nil
}

// Run keeps the slices right until ctx ends, and returns when everything it
// started has stopped. It starts from what the slices publish: a restart changes
// nothing (contract 28). It leaves the slices as they are.
func (s *Syncer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { s.targets.Run(ctx) })
	select {
	case <-ctx.Done():
		return nil
	case state := <-s.recovered:
		s.board.started(ctx, state)
		verdicts := s.pool.Subscribe()
		running.Go(func() { s.forward(ctx, verdicts) })
		return s.pool.Run(ctx, plan.Published(state))
	}
}

// only is the only target.
func (s *Syncer) only() target.Options {
	o := target.Options{
		Fills:  []target.Fill{{Store: s.opts.Store, Target: s.opts.Target}},
		DryRun: s.opts.DryRun,
		Observe: func(o target.Outcome) {
			s.board.targeted(o)
			if o.Recovered {
				select {
				case s.recovered <- o.State:
				default: // it was tried again after a defect
				}
			}
		},
	}
	if s.opts.StoreChanged == nil {
		o.Reload = s.opts.PollInterval
	}
	return o
}

// forward gives the target what its pool decides, and tells it when the store has
// changed.
func (s *Syncer) forward(ctx context.Context, verdicts <-chan *guard.Verdict) {
	for {
		select {
		case <-ctx.Done():
			return
		case v := <-verdicts:
			s.targets.Publish("", v)
		case <-s.opts.StoreChanged:
			s.target.Changed()
		}
	}
}

// Alive reports whether the loops, where they run, still come round. A dead
// source, backend or API server does not stop them (contract 31).
func (s *Syncer) Alive() bool { return s.LoopAge() < Stalled }

// LoopAge returns how long ago the slower of the loops came round last, 0 where
// none runs.
func (s *Syncer) LoopAge() time.Duration { return max(s.pool.Age(), s.targets.Age()) }

// Status returns what the newest pass saw and decided. The answer is shared and
// must not be changed.
func (s *Syncer) Status() *Status { return s.board.shown() }
