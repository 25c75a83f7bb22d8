package target

import (
	"context"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// loaded is what came of reading the store.
type loaded struct {
	state plan.State
	err   error
	// ended is how many writes had ended when the load was asked for. The state may
	// lack later ones.
	ended int
}

// loadLoop reads the store when it is asked to. It has a goroutine of its own, so
// that an API server that hangs delays nothing else.
func (t *Target) loadLoop(ctx context.Context, asked <-chan int, out chan<- loaded) {
	for {
		var r loaded
		select {
		case <-ctx.Done():
			return
		case r.ended = <-asked:
		}
		r.state, r.err = t.Load(ctx)
		select {
		case out <- r:
		case <-ctx.Done():
			return
		}
	}
}

// reader says when the store is read: when something may have changed, and after
// an error when its back-off is over. At most one load is in flight.
type reader struct {
	wanted, busy bool
	failures     int
	notBefore    time.Time
	// reload is how often a store without change signals is read, 0 for others, and
	// next when that is due.
	reload time.Duration
	next   time.Time
}

// want asks for a load that begins later than now.
func (r *reader) want() { r.wanted = true }

// start reports whether a load is to begin now.
func (r *reader) start(now time.Time) bool {
	if r.reload > 0 && !now.Before(r.next) {
		r.wanted = true
	}
	if !r.wanted || r.busy || now.Before(r.notBefore) {
		return false
	}
	r.wanted, r.busy, r.next = false, true, now.Add(r.reload)
	return true
}

// ended notes that the load has ended, and after an error when the next may begin.
func (r *reader) ended(err error, now time.Time, backoff func(failures int) time.Duration) {
	r.busy = false
	if err == nil {
		r.failures, r.notBefore = 0, time.Time{}
		return
	}
	r.wanted, r.notBefore = true, now.Add(backoff(r.failures))
	r.failures++
}

// wake returns when time alone calls for a load, zero if it does not.
func (r *reader) wake() time.Time {
	switch {
	case r.busy:
		return time.Time{}
	case r.wanted:
		return r.notBefore
	case r.reload > 0:
		return r.next
	}
	return time.Time{}
}
