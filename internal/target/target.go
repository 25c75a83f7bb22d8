package target

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/outbox"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// Store holds the slices.
type Store interface {
	// Load returns the slices and the Service as they are.
	Load(ctx context.Context) (plan.State, error)
	// Write carries one write out and returns the slice's version afterwards,
	// empty where that is not known without another load. An error that wraps
	// plan.ErrConflict says that the slice is no longer what the write was computed
	// from, one that wraps plan.ErrUnavailable that no slice can be written.
	Write(ctx context.Context, write plan.Write) (version string, err error)
}

const (
	// WriteTimeout bounds one request to the store; a write that is under way
	// when the program is told to stop still ends within it (contract 30).
	WriteTimeout = 5 * time.Second
	// heartbeat is how often the loop comes round when nothing happens.
	heartbeat = time.Second
	// loadBackoffMin and loadBackoffMax bound the wait after a failed load:
	// shorter than that after a failed read, because dead backends wait for it.
	loadBackoffMin = time.Second
	loadBackoffMax = 15 * time.Second
)

// Options are what a Target is made of.
type Options struct {
	Store Store
	// Changed receives a value when another client may have changed what Load
	// answers; where it is nil, the store is read every Reload.
	Changed <-chan struct{}
	Reload  time.Duration
	Target  plan.Target
	// Lanes is how many writes may be in flight; outbox.Lanes where it is 0.
	Lanes int
	// DryRun decides and reports, and writes nothing.
	DryRun bool
	// Observe gets the outcome of each event after its writes were sent. It must
	// not block, and may be nil.
	Observe func(Outcome)
	// Random draws the waits after failures: at least 0 and less than 1, from any
	// goroutine. It is rand.Float64 where it is nil.
	Random func() float64
}

// Target publishes verdicts as the slices of one Service.
type Target struct {
	opts Options
	// beat is when the loop last came round, as nanoseconds since start, 0 while
	// it does not run.
	beat  atomic.Int64
	start time.Time
}

// New checks the options. It neither loads nor writes anything.
func New(opts Options) (*Target, error) {
	switch {
	case opts.Store == nil:
		return nil, errors.New("target: a store is needed")
	case opts.Changed == nil && opts.Reload <= 0:
		return nil, errors.New("target: a store that announces no changes needs a positive reload interval")
	}
	if opts.Lanes == 0 {
		opts.Lanes = outbox.Lanes
	}
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	if opts.Observe == nil {
		opts.Observe = func(Outcome) {}
	}
	return &Target{opts: opts, start: time.Now()}, nil
}

// Recover loads the state that everything starts from, and tries until it succeeds:
// without it published endpoints would be forgotten. It returns false when ctx
// ended before.
func (t *Target) Recover(ctx context.Context) (plan.State, bool) {
	defer t.beat.Store(0)
	failures := 0
	for {
		t.alive()
		state, err := t.Load(ctx)
		if err == nil {
			return state, true
		}
		if ctx.Err() != nil {
			return plan.State{}, false
		}
		t.opts.Observe(Outcome{At: time.Now(), Loaded: true, LoadErr: err})
		timer := time.NewTimer(t.opts.loadBackoff(failures))
		failures++
		select {
		case <-ctx.Done():
			timer.Stop()
			return plan.State{}, false
		case <-timer.C:
		}
	}
}

// Run publishes the verdicts until ctx ends, from the state that Recover returned,
// and returns when the writes under way have ended. It leaves the slices as they
// are.
func (t *Target) Run(ctx context.Context, state plan.State, verdicts <-chan *guard.Verdict) {
	defer t.beat.Store(0)
	inner, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	l := newLoop(t, state)
	defer close(l.jobs)
	running.Go(func() { t.loadLoop(inner, l.loads, l.loaded) })
	for range t.opts.Lanes {
		running.Go(func() { t.lane(ctx, l.jobs, l.reports) })
	}
	for {
		t.alive()
		e, ok := l.wait(ctx, verdicts)
		if !ok {
			l.finish()
			return
		}
		l.handle(e)
	}
}

// lane carries out one write after the other.
func (t *Target) lane(ctx context.Context, jobs <-chan plan.Write, reports chan<- outbox.Result) {
	for w := range jobs {
		reports <- t.Write(ctx, w) // there is room for each lane's
	}
}

// alive notes that the loop came round.
func (t *Target) alive() { t.beat.Store(int64(max(time.Since(t.start), 1))) }

// Age returns how long ago the loop came round last, 0 where it does not run.
func (t *Target) Age() time.Duration {
	beat := t.beat.Load()
	if beat == 0 {
		return 0
	}
	return time.Since(t.start) - time.Duration(beat)
}

// Load reads the state within WriteTimeout.
func (t *Target) Load(ctx context.Context) (plan.State, error) {
	ctx, cancel := context.WithTimeout(ctx, WriteTimeout)
	defer cancel()
	return t.opts.Store.Load(ctx)
}

// Write carries one write out within WriteTimeout, even if ctx ends meanwhile.
func (t *Target) Write(ctx context.Context, w plan.Write) outbox.Result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), WriteTimeout)
	defer cancel()
	r := outbox.Result{Write: w, Sent: time.Now()}
	r.Version, r.Err = t.opts.Store.Write(ctx, w)
	if r.Err != nil {
		r.Err = fmt.Errorf("%s slice %s: %w", w.Operation, w.Slice.Name, r.Err)
	}
	return r
}

// loadBackoff returns how long to wait after one more failed load ("full jitter").
func (o Options) loadBackoff(failures int) time.Duration {
	bound := min(loadBackoffMin<<min(failures, 20), loadBackoffMax)
	return time.Duration(o.Random()*float64(bound)) + 1
}
