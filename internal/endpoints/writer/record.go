package writer

import (
	"errors"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

const (
	// burst is how many writes of one slice may go out at once; a token comes
	// back every refill.
	burst  = 5
	refill = time.Second
	// repairMax bounds the pause between two repairs of one slice. quiet is after how
	// long without an edit the repairs are forgotten.
	repairMax = 5 * time.Minute
	quiet     = 10 * time.Minute
)

// record is the history of one slice.
type record struct {
	// write is in flight or, where unread, of unknown outcome: then the slice has
	// to be read before it takes part again. It is nil otherwise.
	write  *publish.Write
	unread bool
	// failed is the result of a failed write, until a read shows whether only its
	// answer was lost.
	failed *Result
	// retry says that the last request tries again what failed, losses that it takes away only.
	// refused says that the server
	// refused the last one, which was a whole.
	retry, losses, refused bool
	// ended is how many requests of all slices had ended with the last one of this:
	// a load that was asked for before may be older. skipped says that such a load
	// differed from what is known, in the version seen.
	ended   int
	skipped bool
	seen    string

	// failures counts them in a row, and retryAt is when the next try is due. err
	// is the last one's, nil when the slice is as it should be.
	failures int
	retryAt  time.Time
	err      error

	bucket bucket
	// content is what was written last; a write of the same is a repair. last is
	// when the last request was sent, repair says that it was one, and repairs
	// counts those that succeeded in a row.
	content publish.Slice
	last    time.Time
	repair  bool
	repairs int
}

// inFlight reports whether a request of the slice is under way.
func (r *record) inFlight() bool { return r.write != nil && !r.unread }

// send notes that the write goes out.
func (r *record) send(e entry, now time.Time) {
	r.write, r.retry, r.losses = &e.Write, r.failing(), e.losses
	r.bucket.take(now)
	r.repair, r.last = r.restores(e.Write, now), now
}

// failing reports whether the last write failed. A first conflict is no failure.
func (r *record) failing() bool { return r.failures > 0 && !r.retryAt.IsZero() }

// skip notes whether a load that does not count differs from what is known. That
// there is no slice tells nothing while a create is under way.
func (r *record) skip(loaded, known publish.Slice) {
	r.skipped, r.seen = loaded.Version != known.Version || loaded.Version == "" && r.inFlight(), loaded.Version
}

// landed notes a success. Without a version the slice is written again only after
// a read.
func (r *record) landed(result Result) {
	r.succeed(result.Write.Slice)
	r.skipped = r.skipped && r.seen != result.Version
	if result.Version == "" {
		r.unread = true
		return
	}
	r.write = nil
}

// succeed forgets failures, unless only losses were written: the whole is still refused.
func (r *record) succeed(content publish.Slice) {
	if !r.losses {
		r.failures, r.retryAt, r.err, r.refused = 0, time.Time{}, nil, false
	}
	r.failed, r.content = nil, content
	r.repairs++
	if !r.repair {
		r.repairs = 0
	}
}

// storedOtherwise notes a write that the server carried out in another way: to send the
// same again is a repair, which is ever rarer, and another write does not wait for it.
func (r *record) storedOtherwise(result Result) {
	if !r.repair {
		r.repairs = 0
	}
	r.failures, r.retryAt, r.content = 0, time.Time{}, result.Write.Slice
	r.repairs++
}

// fail notes a failure, whose true outcome the next read shows.
func (r *record) fail(result Result) {
	r.unread, r.failed, r.err = true, &result, result.Err
	r.refused = errors.Is(result.Err, publish.ErrRefused) && !r.losses
}

// inSync notes that the slice is as it should be. A back-off that still runs goes
// on, so that a slice which differs again and again is not tried each time.
func (r *record) inSync(now time.Time) {
	if r.write != nil {
		return
	}
	r.err = nil
	if !now.Before(r.retryAt) {
		r.failures, r.retryAt, r.refused = 0, time.Time{}, false
	}
}

// read notes that the slice was read, a zero one if there is none, and returns what came
// of the write that had failed, if one had.
func (r *record) read(slice publish.Slice) *Result {
	failed, meant := r.failed, r.write.Slice
	r.write, r.unread, r.failed = nil, false, nil
	if r.err != nil && !errors.Is(r.err, publish.ErrConflict) && slice.Same(meant) {
		r.succeed(meant)
		if failed != nil {
			failed.Err, failed.Version = nil, slice.Version
		}
	}
	return failed
}

// restores reports whether the write only puts back what was written before.
func (r *record) restores(w publish.Write, now time.Time) bool {
	return now.Sub(r.last) < quiet && r.content.Same(w.Slice)
}

// pause is how long the slice has to be left alone before it is repaired again.
// The first repair need not wait.
func (r *record) pause() time.Duration {
	if r.repairs == 0 {
		return 0
	}
	return min(refill<<min(r.repairs-1, 20), repairMax)
}

// due returns when the write may go out, as far as time decides. The losses of a write
// that was refused do not wait until that is tried again.
func (o *Outbox) due(e entry, now time.Time) time.Time {
	r, ok := o.records[e.Slice.Name]
	if !ok {
		return time.Time{}
	}
	at := r.bucket.next()
	if !e.losses || !r.refused {
		at = later(at, r.retryAt)
	}
	if r.restores(e.Write, now) {
		at = later(at, r.last.Add(r.pause()))
	}
	return at
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Outcome is what one event came to. It is not changed any more.
type Outcome struct {
	// At is when the event came. Pool and SliceName are those of the fill that it concerns.
	At              time.Time
	Pool, SliceName string
	// Recovered says that the store was read for the first time: State is what
	// everything starts from.
	Recovered bool
	// Defect is why the target is not handled for now, nil if it is. What else the
	// outcome says is then empty.
	Defect *Defect
	// Passed says that the slices were planned anew; Problem is what prevents that,
	// and Writes are what differed then.
	Passed  bool
	Problem publish.Problem
	Writes  []publish.Write
	// Checked says that all endpoints of the pool were checked, and one works.
	Checked bool
	// State is what the store is known to hold.
	State publish.State
	// Results are what came of writes since the last outcome with any, and Began is
	// when the first of them was sent.
	Results []Result
	Began   time.Time
	// Loaded says that the store was read; LoadErr is why that failed the last
	// time, or why what was read may be out of date.
	Loaded  bool
	LoadErr error
	// WriteErr is why slices that should be written cannot be, nil if all can.
	WriteErr error
	// Pending is how many slices still differ from what was decided; in a dry run
	// those that it does not write.
	Pending int
}

// results gathers what came of writes, so that one outcome has those of a burst.
type results struct {
	all   []Result
	since time.Time
}

// gathering is how long results wait for others at the most.
const gathering = time.Second

// add adds results.
func (r *results) add(now time.Time, more ...Result) {
	if len(r.all) == 0 {
		r.since = now
	}
	r.all = append(r.all, more...)
}

// due returns when the results are reported at the latest, zero if there are none.
func (r *results) due() time.Time {
	if len(r.all) == 0 {
		return time.Time{}
	}
	return r.since.Add(gathering)
}

// take returns the results, unless a write under way may add to them soon.
func (r *results) take(underway bool, now time.Time) []Result {
	if len(r.all) == 0 || underway && now.Before(r.due()) {
		return nil
	}
	all := r.all
	r.all = nil
	return all
}
