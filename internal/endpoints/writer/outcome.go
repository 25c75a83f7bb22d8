package writer

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

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
