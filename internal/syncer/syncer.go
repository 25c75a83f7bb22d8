package syncer

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// Source reads the inventory of the remote cluster.
type Source interface {
	// Read returns one complete list of nodes; anything less is an error. An
	// error may have a method RetryAfter() time.Duration, which is honoured.
	Read(ctx context.Context) ([]inventory.Node, error)
}

// Prober checks the health of one address. A failed check is a result.
type Prober interface {
	Check(ctx context.Context, addr netip.Addr) inventory.Result
}

// Store holds the slices.
type Store interface {
	// Load returns the slices and the Service as they are.
	Load(ctx context.Context) (plan.State, error)
	// Write carries one write out. An error that wraps plan.ErrConflict says
	// that the slice is no longer what the write was computed from.
	Write(ctx context.Context, write plan.Write) error
}

// Notifier is what a Source or a Store implements in addition when it knows by
// itself that its next answer will differ. One that wraps another may have the
// method without the knowledge: then it returns nil.
type Notifier interface {
	Changed() <-chan struct{}
}

// The fixed bounds of the loop.
const (
	// WriteTimeout bounds one request to the store; a write that is under way
	// when the program is told to stop still ends within it (contract 30).
	WriteTimeout = 5 * time.Second
	// WriteInterval is the least time between two writes of one slice
	// (contract 26).
	WriteInterval = time.Second
	// gather is how long a result of a probe waits for others.
	gather = 20 * time.Millisecond
	// heartbeat is how often the loop comes round when nothing happens.
	heartbeat = time.Second
	// Stalled is how long the loop may not have come round before the program
	// counts as dead (contract 31).
	Stalled = 30 * time.Second
	// backoffMin and backoffMax bound the wait after a failed read (contract 3).
	backoffMin = time.Second
	backoffMax = 5 * time.Minute
	// storeBackoffMax bounds the wait after a failed request to the store:
	// shorter, because dead backends wait for it.
	storeBackoffMax = 15 * time.Second
)

// Options are what a Syncer is made of.
type Options struct {
	Source Source
	// Prober is nil with HEALTH_CHECK_MODE=off.
	Prober Prober
	Store  Store
	Target plan.Target
	Rules  filter.Rules
	Policy guard.Policy

	// PollInterval is SOURCE_POLL_INTERVAL, SourceTimeout bounds one read.
	PollInterval, SourceTimeout time.Duration
	// HealthTimeout is HEALTH_CHECK_TIMEOUT, Concurrency how many probes may be
	// in flight. The interval is in Policy.
	HealthTimeout time.Duration
	Concurrency   int
	// DryRun decides and reports, and writes nothing.
	DryRun bool
	Logger *slog.Logger
	// Announcer is told what happened to the Service; nil where nobody listens.
	Announcer Announcer
	// Random draws the jitter of reads and the waits after failures: at least 0
	// and less than 1, from any goroutine. It is rand.Float64 where it is nil.
	Random func() float64
}

// Syncer keeps the slices of one target equal to the healthy nodes of one source.
type Syncer struct {
	opts Options
	// running says that Run has been called and has not returned; beat is when
	// its loop last came round, as nanoseconds since start.
	running atomic.Bool
	beat    atomic.Int64
	start   time.Time
	status  atomic.Pointer[Status]
}

// New checks the options. It neither reads nor writes anything.
func New(opts Options) (*Syncer, error) {
	switch {
	case opts.Source == nil, opts.Store == nil:
		return nil, errors.New("syncer: a source and a store are needed")
	case opts.Prober == nil && !opts.Policy.HealthOff:
		return nil, errors.New("syncer: a prober is needed unless health checks are off")
	case opts.PollInterval <= 0, opts.SourceTimeout <= 0:
		return nil, errors.New("syncer: poll interval and source timeout have to be positive")
	case opts.Prober != nil && (opts.Policy.Interval <= 0 || opts.HealthTimeout <= 0 || opts.Concurrency < 1):
		return nil, errors.New("syncer: health interval, timeout and concurrency have to be positive")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	s := &Syncer{opts: opts, start: time.Now()}
	s.status.Store(&Status{})
	return s, nil
}

// Alive reports whether the loop, where it runs, still comes round. A dead
// source, backend or API server does not stop it (contract 31).
func (s *Syncer) Alive() bool {
	return s.LoopAge() < Stalled
}

// LoopAge returns how long ago the loop came round last, 0 where it does not run.
func (s *Syncer) LoopAge() time.Duration {
	if !s.running.Load() {
		return 0
	}
	return time.Since(s.start) - time.Duration(s.beat.Load())
}

// Status returns what the newest pass saw and decided. The answer is shared and
// must not be changed.
func (s *Syncer) Status() *Status { return s.status.Load() }

// fastInterval is how often an address whose state is in question is probed.
func (o Options) fastInterval() time.Duration {
	return max(o.Policy.Interval/10, 100*time.Millisecond)
}

// grace is how long writes wait for the first probe of a new address.
func (o Options) grace() time.Duration { return min(o.fastInterval(), time.Second) }
