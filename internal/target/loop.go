package target

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/outbox"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// loop is what Run remembers between two events. Only Run's goroutine touches it.
type loop struct {
	*Target
	loads   chan int
	loaded  chan loaded
	jobs    chan plan.Write
	reports chan outbox.Result

	// verdict is the newest one, nil before the first.
	verdict *guard.Verdict
	// state is what the store is known to hold.
	state   plan.State
	outbox  *outbox.Outbox
	reader  reader
	results results
	outcome Outcome
}

// newLoop starts from a state.
func newLoop(t *Target, state plan.State) *loop {
	l := &loop{
		Target: t, state: state,
		loads: make(chan int, 1), loaded: make(chan loaded),
		jobs: make(chan plan.Write, t.opts.Lanes), reports: make(chan outbox.Result, t.opts.Lanes),
		outbox: outbox.New(outbox.Options{Lanes: t.opts.Lanes, Random: t.opts.Random}),
	}
	if t.opts.Changed == nil {
		l.reader.reload, l.reader.next = t.opts.Reload, time.Now().Add(t.opts.Reload)
	}
	return l
}

// pass is the picture of the package comment: what the pool decided becomes
// slices, and the difference is written.
func (l *loop) pass() {
	planned := l.state
	planned.Slices = l.outbox.Planned(l.state.Slices)
	desired, problem := plan.Desired(l.verdict.Members, planned, l.opts.Target)
	writes := plan.Diff(planned.Slices, desired)
	if !l.opts.DryRun {
		l.outbox.Offer(l.state.Slices, writes, time.Now())
		l.send()
	}
	l.outcome.Passed, l.outcome.Problem, l.outcome.Writes = true, problem, writes
}

// send gives the writes that are due to the lanes that are free.
func (l *loop) send() {
	for {
		w, ok := l.outbox.Take(time.Now())
		if !ok {
			return
		}
		l.jobs <- w // there is room: no more are taken than there are lanes
	}
}

// event is one thing that happened; the zero event is that time went by.
type event struct {
	verdict *guard.Verdict
	report  *outbox.Result
	loaded  *loaded
	// changed says that the store announced a change.
	changed bool
}

// wait returns the next event, or false when ctx has ended, whatever else has
// happened by then.
func (l *loop) wait(ctx context.Context, verdicts <-chan *guard.Verdict) (event, bool) {
	if ctx.Err() != nil {
		return event{}, false
	}
	timer := time.NewTimer(l.pause(time.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return event{}, false
	case v := <-verdicts:
		return event{verdict: v}, true
	case r := <-l.reports:
		return event{report: &r}, true
	case r := <-l.loaded:
		return event{loaded: &r}, true
	case <-l.opts.Changed:
		return event{changed: true}, true
	case <-timer.C:
		return event{}, true
	}
}

// pause is how long nothing is to be done if nothing happens.
func (l *loop) pause(now time.Time) time.Duration {
	pause := heartbeat
	for _, at := range []time.Time{l.outbox.Wake(now), l.reader.wake(), l.results.due()} {
		if !at.IsZero() {
			pause = min(pause, at.Sub(now))
		}
	}
	return max(pause, time.Nanosecond)
}

// handle takes an event in, plans anew where it calls for that, and sends what is
// due.
func (l *loop) handle(e event) {
	now := time.Now()
	replan := l.absorb(e, now) || l.outbox.Stale(now)
	if l.verdict != nil && replan {
		l.pass()
	} else {
		l.send()
	}
	if l.reader.start(now) {
		l.loads <- l.outbox.Ended() // there is room: at most one load is asked for
	}
	l.tell(now)
}

// finish waits for the writes under way, at most WriteTimeout, and reports them.
func (l *loop) finish() {
	for l.outbox.Underway() {
		l.absorbReport(<-l.reports, time.Now())
	}
	l.results.add(time.Now(), l.outbox.GiveUp()...)
	l.tell(time.Now())
}

// absorb takes an event in, and reports whether slices have to be planned anew.
func (l *loop) absorb(e event, now time.Time) bool {
	switch {
	case e.verdict != nil:
		l.verdict = e.verdict
		return true
	case e.report != nil:
		return l.absorbReport(*e.report, now)
	case e.loaded != nil:
		return l.absorbLoaded(*e.loaded, now)
	case e.changed:
		l.reader.want()
	}
	return false
}

// absorbReport takes in what came of a write. After a success the state is what
// was planned, and there is nothing to plan anew.
func (l *loop) absorbReport(r outbox.Result, now time.Time) bool {
	l.outbox.Report(r, now)
	if l.outbox.Unread() {
		l.reader.want()
	}
	if r.Err == nil {
		l.state.Slices = outbox.Landed(l.state.Slices, r)
		l.results.add(now, r)
	}
	return false
}

// absorbLoaded takes in what the store holds. Mostly it only confirms a write of
// ours.
func (l *loop) absorbLoaded(r loaded, now time.Time) bool {
	trouble := r.err
	if trouble == nil {
		trouble = r.state.Stale
	}
	l.reader.ended(trouble, now, l.opts.loadBackoff)
	l.outcome.Loaded, l.outcome.LoadErr = true, trouble
	if r.err != nil {
		l.results.add(now, l.outbox.GiveUp()...)
		return false
	}
	before := l.state
	l.state = r.state
	merged, results, resolved := l.outbox.Merge(before.Slices, r.state, r.ended)
	l.state.Slices = merged
	l.results.add(now, results...)
	if trouble != nil {
		l.results.add(now, l.outbox.GiveUp()...)
	}
	if l.outbox.Unread() {
		l.reader.want()
	}
	return resolved || !same(before, l.state)
}

// same reports whether both states are equal, versions included, so that nothing
// has to be planned anew.
func same(a, b plan.State) bool {
	return reflect.DeepEqual(a.Service, b.Service) && slices.Equal(a.Refused, b.Refused) && slices.Equal(a.Beside, b.Beside) &&
		slices.EqualFunc(a.Slices, b.Slices, plan.Slice.SameVersion)
}
