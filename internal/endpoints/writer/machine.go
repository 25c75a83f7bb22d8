package writer

import (
	"cmp"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// machine is the state of one fill. It has no goroutine, no timer and no clock:
// handle takes an event in, take gives out what is to be written, load what is to be
// read, tell what came of it, and next says when time alone is an event.
type machine struct {
	fill   Fill
	dryRun bool
	// known says that state was loaded: before that nothing is decided.
	known bool
	// members are what the pools decided; decided says that they did.
	members []inventory.Member
	decided bool
	// dies says that slices of a hand-over serve an endpoint that is down.
	dies bool
	// right says that the last pass had nothing to write.
	right bool
	// state is what the store is known to hold.
	state   publish.State
	start   start
	outbox  *Outbox
	reader  reader
	results results
	outcome Outcome
}

// newMachine starts from the state of the fill, or with a load. The outbox may know
// the slices from before, also that one has to be read before it is written again.
func newMachine(f Fill, dryRun bool, box *Outbox, random func() float64) *machine {
	m := &machine{fill: f, dryRun: dryRun, outbox: box, reader: reader{random: random}, outcome: Outcome{Pool: f.Pool, SliceName: f.Target.SliceName}}
	if f.State == nil || box.Unread() {
		m.reader.want()
	}
	if f.State != nil {
		m.known, m.state, m.start.own = true, *f.State, publish.Published(*f.State)
	}
	return m
}

// start is what the group of the pool judges against: a target holds on to what its slices
// published when the group began.
type start struct {
	// own are the endpoints that the slices published then: at first, and when another group
	// took the place of the first. settled says that the group had judged all of them since.
	own     []inventory.Member
	settled bool
}

// follow takes a verdict in. A group begins anew because the document of its pool changed:
// what it has not judged yet stays as it is published.
func (s *start) follow(v *guard.Verdict, published []inventory.Member) {
	if v == nil {
		return
	}
	is := v.Settled()
	if s.settled && !is {
		s.own = published
	}
	s.settled = is
}

// event is one thing that happened; the zero event is that time went by.
type event struct {
	decided *decision
	report  *Result
	loaded  *loadResult
	// changed says that the store may have changed.
	changed bool
}

// decision is what the pools decided for one fill.
type decision struct {
	members []inventory.Member
	// checked says that all endpoints of its pool were checked, and one works.
	checked bool
	// dies says that slices that drain serve an endpoint that is down.
	dies bool
}

// handle takes an event in, and plans anew where it calls for that.
func (m *machine) handle(e event, now time.Time) {
	if m.absorb(e, now) || m.outbox.Stale(now) {
		m.pass(now)
	}
}

// pass is the picture of the package comment: what the pool decided becomes
// slices, and the difference is offered.
func (m *machine) pass(now time.Time) {
	if !m.known || !m.decided {
		return
	}
	planned := m.state
	planned.Slices = m.outbox.Planned(m.state.Slices)
	desired, problem := publish.Desired(m.members, planned, m.fill.Target)
	writes := publish.Diff(planned.Slices, desired)
	if !m.dryRun {
		m.outbox.Offer(m.state.Slices, writes, now)
	}
	m.state.Slices = publish.Shared(m.state.Slices, desired)
	m.outcome.Passed, m.outcome.Problem, m.outcome.Writes = true, problem, writes
	m.right = len(writes) == 0 && m.outbox.Settled()
}

// take returns the write that goes out now: handle gets what comes of it. A diff that
// has become old is made anew first.
func (m *machine) take(now time.Time) (w publish.Write, ok bool) {
	if m.outbox.Stale(now) {
		m.pass(now)
	}
	return m.outbox.Take(now)
}

// next returns when time alone is an event, zero if it never is.
func (m *machine) next(now time.Time) time.Time {
	return earliest(m.outbox.Wake(now), m.reader.wake(), m.results.due())
}

// earliest returns the earliest of times, of which zero ones do not count.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, at := range times {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// absorb takes an event in, and reports whether slices have to be planned anew.
func (m *machine) absorb(e event, now time.Time) bool {
	switch {
	case e.decided != nil:
		same := m.decided && slices.Equal(m.members, e.decided.members)
		m.members, m.decided, m.dies, m.outcome.Checked = e.decided.members, true, e.decided.dies, e.decided.checked
		if same && m.right {
			m.outcome.Passed = true // it would come to the same
			return false
		}
		return true
	case e.report != nil:
		m.absorbReport(*e.report, now)
	case e.loaded != nil:
		return m.absorbLoaded(*e.loaded, now)
	case e.changed:
		m.reader.want()
	}
	return false
}

// absorbReport takes in what came of a write. After a success the state is what
// was planned, and there is nothing to plan anew.
func (m *machine) absorbReport(r Result, now time.Time) {
	m.outbox.Report(r, now)
	if m.outbox.Unread() {
		m.reader.want()
	}
	if r.Err == nil {
		m.state.Slices = Landed(m.state.Slices, r)
		m.results.add(now, r)
	}
}

// absorbLoaded takes in what the store holds. Mostly it only confirms a write of
// ours.
func (m *machine) absorbLoaded(r loadResult, now time.Time) bool {
	trouble := cmp.Or(r.err, r.state.Stale, r.state.UnreadErr)
	m.reader.ended(trouble, now)
	m.reader.answers = cmp.Or(r.err, r.state.UnreadErr) == nil
	m.outcome.Loaded, m.outcome.LoadErr = true, trouble
	if r.err != nil {
		m.results.add(now, m.outbox.GiveUp()...)
		return false
	}
	before, first := m.state, !m.known
	m.state, m.known, m.outcome.Recovered = r.state, true, first
	merged, results, resolved := m.outbox.Merge(before.Slices, r.state, r.ended)
	m.state.Slices = merged
	if first {
		m.start.own = publish.Published(m.state)
	}
	m.results.add(now, results...)
	if trouble != nil {
		m.results.add(now, m.outbox.GiveUp()...)
	}
	if m.outbox.Unread() {
		m.reader.want()
	}
	return first || resolved || !same(before, m.state)
}

// same reports whether both states are equal, versions included, so that nothing
// has to be planned anew.
func same(a, b publish.State) bool {
	return a.Service.Same(b.Service) && slices.Equal(a.Refused, b.Refused) && slices.Equal(a.Beside, b.Beside) &&
		slices.EqualFunc(a.Slices, b.Slices, publish.Slice.SameVersion)
}

// tell returns what came of the events since the last call, and false if that is
// nothing worth telling.
func (m *machine) tell(now time.Time) (Outcome, bool) {
	o := &m.outcome
	o.Results = m.results.take(m.outbox.Underway() || m.outbox.Waits(now), now)
	pending, failing := m.outbox.Pending(), m.outbox.Err()
	if m.dryRun {
		pending = len(o.Writes)
	}
	if !o.Passed && !o.Loaded && o.Results == nil && pending == o.Pending && (failing == nil) == (o.WriteErr == nil) {
		return Outcome{}, false
	}
	for i, r := range o.Results {
		if i == 0 || r.Sent.Before(o.Began) {
			o.Began = r.Sent
		}
	}
	o.At, o.State, o.Pending, o.WriteErr = now, m.state, pending, failing
	told := *o
	o.Passed, o.Loaded, o.Recovered = false, false, false
	return told, true
}

// finish returns the last outcome: results that no load will explain are told too.
func (m *machine) finish(now time.Time) (Outcome, bool) {
	m.results.add(now, m.outbox.GiveUp()...)
	m.results.since = time.Time{} // nothing is waited for any more
	return m.tell(now)
}
