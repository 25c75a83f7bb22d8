package syncer

import (
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
)

// absorb takes an event in, and reports whether it calls for a pass.
func (l *loop) absorb(e event) bool {
	now := time.Now()
	switch {
	case e.reading != nil:
		return l.absorbReading(*e.reading, now)
	case e.results != nil:
		return l.absorbResults(e.results)
	case e.report != nil:
		return l.absorbReport(*e.report, now)
	case e.changed:
		l.stale = true
		return !l.busy // the report of the job under way brings the pass
	}
	l.fold()
	l.showHealth()
	l.countOverruns(now)
	if !l.patience.IsZero() && !now.Before(l.patience) {
		l.patience = time.Time{}
		l.unpark()
		return true
	}
	due := !l.wake.IsZero() && !now.Before(l.wake)
	return due || l.stale && !now.Before(l.pacer.notUntil)
}

// absorbReading takes the answer of the source in. The first read after a restart
// waits until the members have been probed once, so that the guard knows them.
func (l *loop) absorbReading(r reading, now time.Time) bool {
	l.narrator.read(l.source, r)
	l.source.LastAttempt, l.source.LastErr, l.source.Next = r.at, r.err, r.next
	l.cycles = prepend(l.cycles, Cycle{At: r.at, Took: r.took, Err: r.err})
	if r.err != nil {
		l.show(l.status.Load().Problem, now)
		return false
	}
	candidates, decisions := filter.Apply(r.nodes, l.opts.Rules)
	l.narrator.refused(l.source.Decisions, decisions)
	l.source.LastSuccess, l.source.Nodes, l.source.Decisions = r.at, len(r.nodes), decisions
	read := &guard.Read{Nodes: len(r.nodes), Candidates: candidates, Decisions: decisions, Scheduled: r.scheduled}
	if changes(l.opts.Store) == nil {
		l.stale = l.stale || r.scheduled
	}
	if l.opts.Policy.HealthOff {
		l.fresh = read
		return true
	}
	if slices.ContainsFunc(l.verdict.Members, func(m inventory.Member) bool { return l.unprobed(m.Address) }) {
		l.parked = read
		l.patience = now.Add(min(l.opts.HealthTimeout, WriteTimeout) + l.opts.grace())
		return false
	}
	l.fresh, l.parked = read, nil
	l.patience = now.Add(l.opts.grace())
	return true
}

// unpark lets a parked read be decided on.
func (l *loop) unpark() {
	if l.parked != nil {
		l.fresh, l.parked = l.parked, nil
		l.patience = time.Now().Add(l.opts.grace())
	}
}

// absorbResults takes results of probes in. Those that can change no decision
// wait for the next that can, or for the next heartbeat: a healthy world costs
// nothing.
func (l *loop) absorbResults(results []inventory.Result) bool {
	l.boring = append(l.boring, results...)
	if !slices.ContainsFunc(results, l.matters) {
		return false
	}
	l.fold()
	members := l.verdict.Members
	if l.parked != nil && !slices.ContainsFunc(members, func(m inventory.Member) bool { return l.unprobed(m.Address) }) {
		l.unpark()
	}
	return true
}

// fold adds the results that were put aside to the streaks.
func (l *loop) fold() {
	if len(l.boring) > 0 {
		l.health = probe.Advance(l.health, l.boring)
		l.boring = nil
	}
}

// showHealth publishes the newest results of probes where nothing else changed: a
// healthy world makes a pass at each read only, and who looks would take probes
// that go on for probes that stopped.
func (l *loop) showHealth() {
	status := *l.status.Load()
	status.Health = l.health
	l.status.Store(&status)
}

// countOverruns notes rounds of probes that could not finish within the interval
// (contract 12).
func (l *loop) countOverruns(now time.Time) {
	overruns := l.prober.overruns()
	if overruns != l.counts.Overruns {
		l.counts.Overruns = overruns
		l.narrator.overran(overruns, now)
		l.show(l.status.Load().Problem, now)
	}
}

// matters reports whether a result may change a decision: all do but one more
// pass of a member that has long passed, and one more like failure of an address
// that is already down. While failing open, every result may end that.
func (l *loop) matters(r inventory.Result) bool {
	streak, policy := l.health[r.Address], l.opts.Policy
	if l.verdict.Mode == guard.FailOpen || l.parked != nil || l.urgent(r.Address) {
		return true
	}
	switch stateOf(l.verdict.Members, r.Address) {
	case inventory.StateReady, inventory.StateDraining:
		return r.Outcome != inventory.Pass && r.Outcome != inventory.LocalError || streak.Passes < policy.Rise
	case inventory.StateDown, inventory.Absent:
	}
	return r.Outcome == inventory.Pass || streak.Fails < policy.Fall || r.Outcome != streak.Last.Outcome
}

// urgent reports whether the address is probed faster because its state is in
// question.
func (l *loop) urgent(addr netip.Addr) bool {
	i, ok := slices.BinarySearchFunc(l.verdict.Watch, addr, func(w guard.Watch, addr netip.Addr) int { return w.Address.Compare(addr) })
	return ok && l.verdict.Watch[i].Urgent
}

// stateOf returns the state that the members, sorted by address, give one.
func stateOf(members []inventory.Member, addr netip.Addr) inventory.State {
	i, ok := slices.BinarySearchFunc(members, addr, func(m inventory.Member, addr netip.Addr) int { return m.Address.Compare(addr) })
	if !ok {
		return inventory.Absent
	}
	return members[i].State
}

// absorbReport takes in what came of a job of the store.
func (l *loop) absorbReport(r report, now time.Time) bool {
	l.busy = false
	failed := l.written.LastErr != nil
	l.pacer.note(r.written, now)
	landed := r.landed()
	l.narrator.written(landed, applied(l.state, landed))
	l.narrator.loaded(r.err)
	l.noteWritten(r, now)
	if r.err != nil {
		l.stale = true
		l.pacer.notUntil = now.Add(l.pacer.failures.next(storeBackoffMax))
		l.show(l.status.Load().Problem, now)
		return false
	}
	if len(r.written) == 0 && !failed && l.settled() && same(l.state, r.state) {
		return false // the echo of our own write, mostly
	}
	l.state, l.current = r.state, true
	return true
}

// settled reports whether nothing waits for a pass but what a report may bring.
func (l *loop) settled() bool { return l.fresh == nil && !l.stale && l.written.Pending == 0 }

// same reports whether both states say the same, their versions included: then
// there is nothing in the one to decide on after the other.
func same(a, b plan.State) bool {
	return reflect.DeepEqual(a.Service, b.Service) && slices.Equal(a.Refused, b.Refused) && slices.Equal(a.Beside, b.Beside) &&
		slices.EqualFunc(a.Slices, b.Slices, func(a, b plan.Slice) bool {
			return a.Name == b.Name && a.Family == b.Family && a.Owner == b.Owner && a.Version == b.Version && a.Drift == b.Drift &&
				slices.Equal(a.Ports, b.Ports) && slices.Equal(a.Endpoints, b.Endpoints)
		})
}

// noteWritten remembers what came of a job of the store, for those who look.
func (l *loop) noteWritten(r report, now time.Time) {
	l.written.LastErr = r.err
	if len(r.written) == 0 {
		return
	}
	c := cycleOf(r.written, l.sent)
	l.cycles = prepend(l.cycles, c)
	if c.Writes > 0 {
		l.written.LastWrite = now
	}
	if c.Err != nil {
		l.written.LastErr = c.Err
	}
}
