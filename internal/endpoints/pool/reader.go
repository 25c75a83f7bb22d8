package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// ReaderOptions are what a Reader is made of.
type ReaderOptions struct {
	Source Source
	// Changed receives a value when the source's next answer will differ; nil
	// where it cannot know.
	Changed <-chan struct{}
	// FreeReads says that reading costs nothing, so that no back-off delays it after
	// an error (contract 3).
	FreeReads bool
	Rules     filter.Rules
	// PollInterval is SOURCE_POLL_INTERVAL, SourceTimeout bounds one read.
	PollInterval, SourceTimeout time.Duration
	// Random draws the jitter of reads and the waits after failures: at least 0
	// and less than 1, from any goroutine. It is rand.Float64 where it is nil.
	Random func() float64
	// Observe gets each attempt to read that Run makes. It must not block, and may be
	// nil.
	Observe func(Attempt)
}

// Reader reads the inventory of one remote cluster, for all groups of the pool.
type Reader struct {
	opts ReaderOptions
	// asking holds a value while the source is asked, also by a read that was given up.
	asking chan struct{}

	mu    sync.Mutex
	boxes []box
	// newest is the newest attempt to read, with the newest complete inventory.
	newest answer
}

// answer is what a group gets of the source: the newest attempt, and the newest
// inventory that it has not taken, if there is one, with the time when it was read.
// An inventory is not changed any more.
type answer struct {
	reading   Attempt
	inventory *guard.Inventory
	at        time.Time
}

// after puts an answer in the place of another one. An error takes the place of no
// inventory, and of two inventories the newer counts.
func (a answer) after(before answer) answer {
	if a.inventory == nil {
		a.inventory, a.at = before.inventory, before.at
	}
	return a
}

// ending is how long a read may take to end after its context, for example to see a
// program end that was killed.
const ending = 2 * time.Second

// NewReader reads nothing yet.
func NewReader(opts ReaderOptions) *Reader {
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	if opts.Observe == nil {
		opts.Observe = func(Attempt) {}
	}
	return &Reader{opts: opts, asking: make(chan struct{}, 1)}
}

// Read asks the source once, within SourceTimeout. A source that panics has given
// no complete answer. One that does not hear its context, as a read of a file system
// that hangs, is given up on, and asked again only when that read has ended.
func (p *Reader) Read(ctx context.Context) (r Attempt) {
	r = Attempt{Scheduled: true, At: time.Now()}
	defer func() { r.Took = time.Since(r.At) }()
	ctx, cancel := context.WithTimeout(ctx, p.opts.SourceTimeout)
	defer cancel()
	select {
	case p.asking <- struct{}{}:
	case <-ctx.Done():
		r.Err = fmt.Errorf("an earlier read of the source hangs; look at its file system: %w", ctx.Err())
		return r
	}
	answered := make(chan Attempt, 1) // its nodes or error
	go func() {
		answer := p.ask(ctx)
		<-p.asking
		answered <- answer
	}()
	late := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(ending, func() { close(late) }) })()
	select {
	case answer := <-answered:
		r.Nodes, r.Err = answer.Nodes, answer.Err
	case <-late:
		r.Err = fmt.Errorf("the read of the source did not end within SOURCE_TIMEOUT=%s; look at its file system: %w", p.opts.SourceTimeout, ctx.Err())
	}
	return r
}

// ask asks the source, and returns when that has ended.
func (p *Reader) ask(ctx context.Context) (answer Attempt) {
	defer func() {
		if cause := recover(); cause != nil {
			answer.Nodes, answer.Err = nil, fmt.Errorf("the source panicked: %v", cause)
		}
	}()
	answer.Nodes, answer.Err = p.opts.Source.Read(ctx)
	if errors.Is(answer.Err, context.DeadlineExceeded) && ctx.Err() != nil {
		answer.Err = fmt.Errorf("no complete answer within SOURCE_TIMEOUT=%s: %w", p.opts.SourceTimeout, answer.Err)
	}
	return answer
}

// Run reads again and again until ctx ends, and gives what it read to every group.
// At most one read is in flight, and no group delays the next.
func (p *Reader) Run(ctx context.Context) {
	s := schedule{interval: p.opts.PollInterval, free: p.opts.FreeReads, random: p.opts.Random}
	scheduled := true
	timer := time.NewTimer(p.opts.PollInterval)
	defer timer.Stop()
	for {
		r := p.Read(ctx)
		r.Scheduled = scheduled
		if ctx.Err() != nil {
			return
		}
		s.took(r, time.Now())
		r.Next, _ = s.next()
		p.opts.Observe(r)
		p.give(r)
		if scheduled = p.awaitNext(ctx, &s, timer); ctx.Err() != nil {
			return
		}
	}
}

// Once reads once, and gives what it read to every group.
func (p *Reader) Once(ctx context.Context) {
	if r := p.Read(ctx); ctx.Err() == nil {
		p.opts.Observe(r)
		p.give(r)
	}
}

// give filters an answer of the source, once for all groups.
func (p *Reader) give(r Attempt) {
	a := answer{reading: r}
	if r.Err == nil {
		filtered := filter.Apply(r.Nodes, p.opts.Rules)
		a.at, a.inventory = r.At, &guard.Inventory{
			Nodes: len(r.Nodes), Candidates: filtered.Candidates, Decisions: filtered.Decisions, Ineligible: filtered.Ineligible,
			Scheduled: r.Scheduled,
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newest = a.after(p.newest)
	for _, b := range p.boxes {
		b.put(a)
	}
}

// subscribe returns a box that gets every further answer. It holds the newest
// inventory already, which was scheduled for others.
func (p *Reader) subscribe() box {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := make(box, 1)
	p.boxes = append(p.boxes, b)
	if a := p.newest; !a.reading.At.IsZero() {
		if a.inventory != nil {
			late := *a.inventory
			late.Scheduled = false
			a.inventory = &late
		}
		b.put(a)
	}
	return b
}

// unsubscribe ends a subscription.
func (p *Reader) unsubscribe(b box) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.boxes = slices.DeleteFunc(p.boxes, func(other box) bool { return other == b })
}

// box holds what a group has not taken yet.
type box chan answer

// put adds an answer. Only one at a time may do so, the Reader.
func (b box) put(a answer) {
	select {
	case before := <-b:
		a = a.after(before)
	default:
	}
	b <- a
}
