package pool

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
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

const (
	// gather is how long a result of a check waits for others.
	gather = 20 * time.Millisecond
	// heartbeat is how often the loop comes round when nothing happens.
	heartbeat = time.Second
	// firstCheck bounds the time that the first inventory after a restart waits
	// for the checks of what is published, whatever HEALTH_CHECK_TIMEOUT is.
	firstCheck = 5 * time.Second
)

// Options are what a Pool is made of.
type Options struct {
	Source Source
	// Changed receives a value when the source's next answer will differ; nil
	// where it cannot know.
	Changed <-chan struct{}
	// FreeReads says that reading costs nothing, so that no back-off delays it after
	// an error (contract 3).
	FreeReads bool
	// Prober is nil with HEALTH_CHECK_MODE=off.
	Prober Prober
	Rules  filter.Rules
	Policy guard.Policy
	// PollInterval is SOURCE_POLL_INTERVAL, SourceTimeout bounds one read.
	PollInterval, SourceTimeout time.Duration
	// HealthTimeout is HEALTH_CHECK_TIMEOUT, Concurrency how many checks may be
	// in flight. The interval is in Policy.
	HealthTimeout time.Duration
	Concurrency   int
	// Hold says whether an idle connection to each endpoint is held.
	Hold HoldOptions
	// Observe gets the outcome of each event after the verdict was published. It
	// must not block, and may be nil.
	Observe func(Outcome)
	// Random draws the jitter of reads and the waits after failures: at least 0
	// and less than 1, from any goroutine. It is rand.Float64 where it is nil.
	Random func() float64
}

// Pool decides about the addresses of one remote cluster.
type Pool struct {
	opts Options
	// subscribers have one channel each, which holds the newest verdict.
	subscribers []chan *guard.Verdict
	// beat is when the loop last came round, as nanoseconds since start, 0 while
	// it does not run.
	beat  atomic.Int64
	start time.Time
}

// New checks the options. It neither reads nor checks anything.
func New(opts Options) (*Pool, error) {
	switch {
	case opts.Source == nil:
		return nil, errors.New("pool: a source is needed")
	case opts.Prober == nil && !opts.Policy.HealthOff:
		return nil, errors.New("pool: a prober is needed unless health checks are off")
	case opts.PollInterval <= 0, opts.SourceTimeout <= 0:
		return nil, errors.New("pool: poll interval and source timeout have to be positive")
	case opts.Prober != nil && (opts.Policy.Interval <= 0 || opts.HealthTimeout <= 0 || opts.Concurrency < 1):
		return nil, errors.New("pool: health interval, timeout and concurrency have to be positive")
	}
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	if opts.Observe == nil {
		opts.Observe = func(Outcome) {}
	}
	return &Pool{opts: opts, start: time.Now()}, nil
}

// Subscribe returns a channel that holds the newest verdict until it is taken. It
// has to be called before Run.
func (p *Pool) Subscribe() <-chan *guard.Verdict {
	c := make(chan *guard.Verdict, 1)
	p.subscribers = append(p.subscribers, c)
	return c
}

// publish gives every subscriber the verdict in place of one it has not taken.
func (p *Pool) publish(v *guard.Verdict) {
	for _, c := range p.subscribers {
		select {
		case <-c:
		default:
		}
		c <- v // there is room: this is the only sender
	}
}

// Run reads, checks and decides until ctx ends, and returns when everything it
// started has stopped. members are what is published: a restart changes none of
// them (contract 28).
func (p *Pool) Run(ctx context.Context, members []inventory.Member) error {
	prober, err := p.opts.newProber()
	if err != nil {
		return err
	}
	holder, err := p.opts.newHolder(prober)
	if err != nil {
		return err
	}
	defer p.beat.Store(0)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	l := newLoop(p, prober, holder, members)
	running.Go(func() { p.readLoop(ctx, l.reads) })
	running.Go(func() { prober.run(ctx) })
	running.Go(func() { holder.run(ctx) })
	l.watch()
	for {
		p.beat.Store(int64(max(time.Since(p.start), 1)))
		e, ok := l.wait(ctx)
		if !ok {
			return nil
		}
		l.handle(e)
	}
}

// Age returns how long ago the loop came round last, 0 where it does not run.
func (p *Pool) Age() time.Duration {
	beat := p.beat.Load()
	if beat == 0 {
		return 0
	}
	return time.Since(p.start) - time.Duration(beat)
}

// FastInterval is how often an address whose state is in question is checked.
func (p *Pool) FastInterval() time.Duration { return p.opts.fastInterval() }

func (o Options) fastInterval() time.Duration {
	return max(o.Policy.Interval/10, 100*time.Millisecond)
}

// grace is how long a verdict waits for the first check of a new address.
func (o Options) grace() time.Duration { return min(o.fastInterval(), time.Second) }
