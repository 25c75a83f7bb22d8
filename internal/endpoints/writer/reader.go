package writer

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// loadResult is what came of reading the store.
type loadResult struct {
	state publish.State
	err   error
	// ended is how many writes had ended when the load began. The state may lack
	// later ones.
	ended int
}

// reader says when the store is read: when something may have changed, and after
// an error when its back-off is over. At most one load is in flight.
type reader struct {
	// answers says that the last load read every slice, though it may be out of date: what is
	// news then waits for no back-off.
	wanted, busy, answers bool
	failures              int
	notBefore             time.Time
	// random draws the waits after failures.
	random func() float64
}

// want asks for a load that begins later than now.
func (r *reader) want() {
	if r.wanted = true; r.answers {
		r.notBefore = time.Time{}
	}
}

// due reports whether a load is to begin.
func (r *reader) due(now time.Time) bool {
	return r.wanted && !r.busy && !now.Before(r.notBefore)
}

// began notes that a load has begun.
func (r *reader) began() { r.wanted, r.busy = false, true }

// ended notes that the load has ended, and after an error when the next may begin.
func (r *reader) ended(err error, now time.Time) {
	r.busy = false
	if err == nil {
		r.failures, r.notBefore = 0, time.Time{}
		return
	}
	r.wanted, r.notBefore = true, now.Add(backoff(r.failures, r.random))
	r.failures++
}

// wake returns when time alone calls for a load, zero if it does not.
func (r *reader) wake() time.Time {
	if r.busy || !r.wanted {
		return time.Time{}
	}
	return r.notBefore
}
