package controllertest

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// Store holds the slices.
type Store = writer.Store

// Announcer makes notices known at the Service. It must not block.
type Announcer interface {
	Announce(notice explain.Notice)
}

// Options are what a Engine is made of.
type Options struct {
	Source pool.Source
	// SourceChanged and StoreChanged receive a value when the next answer of Source
	// or Store will differ; nil where they cannot know.
	SourceChanged, StoreChanged <-chan struct{}
	// Placer says where the Pods of the remote Service far/web are, which the target follows; nil
	// where it follows none.
	Placer pool.Placer
	// Warnings tell what is odd about the remote side; nil where there is no such thing.
	Warnings func() []string
	// FreeReads says that reading costs nothing; see pool.ReaderOptions.
	FreeReads bool
	// Prober is nil with HEALTH_CHECK_MODE=off. Checker makes that of another check than the
	// wanted one, which slices tell of; where it is nil, Prober does that too.
	Prober  pool.Prober
	Checker func(check assign.Check) (pool.Prober, error)
	// Pool and Binding are the documents of the variables; where they are nil, they are made
	// of the target and the policy.
	Pool    *v1alpha1.EndpointPool
	Binding *v1alpha1.EndpointBinding
	Store   Store
	// Lanes is how many writes may be in flight; see writer.Options.
	Lanes  int
	Target publish.Target
	Rules  filter.Rules
	Policy guard.Policy

	// PollInterval is SOURCE_POLL_INTERVAL, SourceTimeout bounds one read.
	PollInterval, SourceTimeout time.Duration
	// HealthTimeout is HEALTH_CHECK_TIMEOUT, Concurrency how many probes may be
	// in flight. The interval is in Policy.
	HealthTimeout time.Duration
	Concurrency   int
	// Hold says that an idle connection to each endpoint is held; see
	// controller.Options.Connections.
	Hold        bool
	Connections health.ConnectionsOptions
	// Asker asks other replicas; nil where there is none.
	Asker *peers.Asker
	// DryRun decides and reports, and writes nothing.
	DryRun bool
	Logger *slog.Logger
	// Observe is told what runs, and what comes of it.
	Observe controller.Observe
	// Announcer gets the notices; it may be nil.
	Announcer Announcer
	// Random draws the jitter of reads and the waits after failures: at least 0
	// and less than 1, from any goroutine. It is rand.Float64 where it is nil.
	Random func() float64
}

// Engine keeps the slices of one target equal to the healthy nodes of one pool. It is the
// engine of documents with those of the environment.
type Engine struct {
	opts   Options
	server *controller.Server
	board  *board
}

// New checks the options. It neither reads nor writes anything.
func New(opts Options) (*Engine, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Source == nil || opts.Store == nil {
		return nil, errors.New("servetest: a source and a store are needed")
	}
	if opts.Pool == nil {
		opts.Pool, opts.Binding = documentsOf(opts)
	}
	s := &Engine{opts: opts, board: newBoard()}
	var err error
	if s.server, err = controller.New(s.served()); err != nil {
		return nil, err
	}
	if opts.Prober == nil && !opts.Policy.HealthOff {
		return nil, errors.New("servetest: a prober is needed unless health checks are off")
	}
	return s, nil
}

// Run keeps the slices right until ctx ends, and returns when everything it
// started has stopped. It starts from what the slices publish: a restart changes
// nothing (contract 28). It leaves the slices as they are.
func (s *Engine) Run(ctx context.Context) error { return s.server.Run(ctx) }

// Alive reports whether the loops, where they run, still come round. A dead
// source, backend or API server does not stop them (contract 31).
func (s *Engine) Alive() bool { return s.server.Alive() }

// LoopAge returns how long ago the slower of the loops came round last, 0 where
// none runs.
func (s *Engine) LoopAge() time.Duration { return s.server.LoopAge() }

// Server is the engine.
func (s *Engine) Server() *controller.Server { return s.server }

// Status returns what the newest pass saw and decided. The answer is shared and
// must not be changed.
func (s *Engine) Status() *Status { return s.board.shown() }
