package pool

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
)

// Source reads the inventory of the remote cluster.
type Source interface {
	// Read returns one complete list of nodes; anything less is an error. An
	// error may wrap a [retryafter.Error], which is honoured.
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

// Pool is one pool with one group, as the environment sets them up.
type Pool struct {
	*Group
	hub *probe.Hub
}

// New checks the options. It neither reads nor checks anything.
func New(opts Options) (*Pool, error) {
	reader, err := NewReader(ReaderOptions{
		Source: opts.Source, Changed: opts.Changed, FreeReads: opts.FreeReads, Rules: opts.Rules,
		PollInterval: opts.PollInterval, SourceTimeout: opts.SourceTimeout, Random: opts.Random,
	})
	if err != nil {
		return nil, err
	}
	p := &Pool{}
	group := GroupOptions{
		Reader: reader, Prober: opts.Prober, Policy: opts.Policy, HealthTimeout: opts.HealthTimeout,
		Concurrency: opts.Concurrency, Hold: opts.Hold, Observe: opts.Observe, Random: opts.Random,
	}
	if !opts.Policy.HealthOff {
		if p.hub, err = probe.NewHub(probe.HubOptions{Concurrency: opts.Concurrency}); err != nil {
			return nil, err
		}
		group.Hub, group.Share = p.hub, p.hub.Share(1)
	}
	p.Group, err = NewGroup(group)
	return p, err
}

// Read asks the source once; see Reader.Read.
func (p *Pool) Read(ctx context.Context) Reading { return p.opts.Reader.Read(ctx) }

// Run reads, checks and decides until ctx ends, and returns when everything it
// started has stopped. members are what is published: a restart changes none of
// them (contract 28).
func (p *Pool) Run(ctx context.Context, members []inventory.Member) error {
	l, err := p.begin(members)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { p.opts.Reader.Run(ctx) })
	if p.hub != nil {
		running.Go(func() { _ = p.hub.Run(ctx) }) // it only ends with ctx
	}
	return l.serve(ctx)
}
