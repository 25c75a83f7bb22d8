package writer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// heartbeat is how often the loop comes round when nothing happens.
const heartbeat = time.Second

// SetOptions are what a Set is made of.
type SetOptions struct {
	// Lanes is how many writes may be in flight; Lanes where it is 0.
	Lanes int
	// Rate is how many writes a second all targets may send together, losses not
	// counted, after ten seconds' worth at once; 0 means no bound.
	Rate int
	// Random draws the waits after failures: at least 0 and less than 1, from any
	// goroutine. It is rand.Float64 where it is nil.
	Random func() float64
}

// Set publishes verdicts as the slices of any number of Services. One goroutine
// decides for all of them.
type Set struct {
	opts  SetOptions
	inbox *inbox
	beat  transport.Beat

	mu sync.Mutex
	// keys are the slices that have a target.
	keys map[string]*Filler
}

// NewSet returns a set that neither loads nor writes anything before Run.
func NewSet(opts SetOptions) *Set {
	opts.Lanes = cmp.Or(opts.Lanes, Lanes)
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	return &Set{opts: opts, inbox: newInbox(), keys: make(map[string]*Filler)}
}

// Add adds a target. It may be called before and while Run runs, from any goroutine.
// A target that comes back is paced as if it had never been away.
func (s *Set) Add(opts Options) (*Filler, error) {
	if opts.Observe == nil {
		opts.Observe = func(Outcome) {}
	}
	t := &Filler{opts: opts, inbox: s.inbox, gone: make(chan struct{}), requests: 1}
	s.mu.Lock()
	defer s.mu.Unlock()
	own := make(map[string]*Filler)
	for _, f := range opts.Fills {
		if s.keys[f.key()] != nil || own[f.key()] != nil {
			return nil, fmt.Errorf("target %s: its slices %s have a target already", f.service(), f.Target.SliceName)
		}
		own[f.key()] = t
	}
	maps.Copy(s.keys, own)
	s.inbox.put(func(n *news) { n.moves = append(n.moves, move{t, false}) })
	return t, nil
}

// Remove takes a target out. Its slices stay as they are; a write under way ends,
// and no other begins. Outcomes may come until the loop has seen it.
func (s *Set) Remove(t *Filler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range t.opts.Fills {
		if s.keys[f.key()] != t {
			return // it is gone
		}
		delete(s.keys, f.key())
	}
	s.inbox.put(func(n *news) { n.moves = append(n.moves, move{t, true}) })
}

// Publish gives all targets of a pool its newest verdict, nil where the pool is gone:
// then what was published stays. It never blocks. The verdict is shared and must not
// be changed any more.
func (s *Set) Publish(pool string, v *guard.Verdict) {
	s.inbox.put(func(n *news) { n.verdicts[pool] = v })
}

// Idle reports whether everything that came was taken in, and nothing is under way.
func (s *Set) Idle() bool {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	return s.inbox.idle
}

// Age returns how long ago the loop came round last, 0 where it does not run.
func (s *Set) Age() time.Duration { return s.beat.Age() }

// Run publishes until ctx ends, and returns when the writes under way have ended. It
// leaves the slices as they are.
func (s *Set) Run(ctx context.Context) {
	defer s.beat.Ended()
	inner, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	l := newLoop(s)
	defer close(l.writes)
	defer close(l.reads)
	for range loaders {
		running.Go(func() { l.reader(inner) })
	}
	for range s.opts.Lanes {
		running.Go(func() { l.writer(ctx) })
	}
	for ctx.Err() == nil {
		s.beat.Came()
		l.wait(ctx)
		if ctx.Err() == nil {
			l.turn(time.Now())
		}
	}
	l.finish()
}
