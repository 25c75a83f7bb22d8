package syncer

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
)

// pass is the picture of the package comment: what was read and probed becomes a
// verdict, the verdict becomes slices, and the difference is written.
func (l *loop) pass() {
	now := time.Now()
	verdict := guard.Decide(guard.Input{Now: now, Read: l.fresh, Health: l.health, Memory: l.memory}, l.opts.Policy)
	desired, problem := plan.Desired(verdict.Members, l.state, l.opts.Target)
	writes := plan.Diff(l.state.Slices, desired)
	l.remember(verdict)
	l.watch()
	l.send(writes, now)
	l.show(problem, now)
}

// remember makes the verdict the base of the next one.
func (l *loop) remember(verdict guard.Verdict) {
	// What is no longer watched is forgotten at once: when the address comes back,
	// on whatever node, an old pass must not let it in (contract 7).
	if l.fresh != nil || len(verdict.Watch) < len(l.verdict.Watch) {
		l.health = probe.Keep(l.health, addresses(verdict.Watch))
	}
	l.narrator.decided(l.verdict, verdict)
	l.verdict, l.memory, l.fresh = verdict, verdict.Memory, nil
	l.wake = verdict.Next
}

// addresses returns the addresses that are watched.
func addresses(watch []guard.Watch) []netip.Addr {
	addrs := make([]netip.Addr, len(watch))
	for i, w := range watch {
		addrs[i] = w.Address
	}
	return addrs
}

// watch tells the prober what to probe. A recovered member that the filter would
// refuse today is not contacted (contract 6).
func (l *loop) watch() {
	targets := make([]probe.Target, 0, len(l.verdict.Watch))
	for _, w := range l.verdict.Watch {
		if !l.barred[w.Address] {
			targets = append(targets, probe.Target{Address: w.Address, Urgent: w.Urgent})
		}
	}
	l.prober.watch(targets)
}

// send hands the writes that may go out now to the store, unless it is busy: then
// its report brings the next pass.
func (l *loop) send(writes []plan.Write, now time.Time) {
	if l.opts.DryRun {
		l.narrator.would(writes)
		writes = nil
	}
	current := l.current
	l.current = false
	if l.busy || l.pending(now) {
		return
	}
	ready, next := l.pacer.due(writes, now)
	if l.stale && !current {
		ready = nil
	}
	l.wake = earliest(l.wake, next)
	if len(ready) == 0 && (!l.stale || now.Before(l.pacer.notUntil)) {
		return
	}
	l.busy, l.stale = true, false
	l.jobs <- job{writes: ready}
}

// pending reports whether a candidate of the newest read still waits for its
// first probe, so that a node that goes and the one that replaces it make one
// write, not two.
func (l *loop) pending(now time.Time) bool {
	if l.opts.Policy.HealthOff || l.patience.IsZero() || !now.Before(l.patience) {
		return false
	}
	if slices.ContainsFunc(l.verdict.Watch, func(w guard.Watch) bool { return l.unprobed(w.Address) }) {
		return true
	}
	l.patience = time.Time{}
	return false
}

// unprobed reports whether no probe of the address has come back yet.
func (l *loop) unprobed(addr netip.Addr) bool {
	streak, ok := l.health[addr]
	return !l.barred[addr] && (!ok || !streak.Known() && streak.Trouble == "")
}

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
		return true
	}
	l.fold()
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
	l.source.LastAttempt, l.source.LastErr = r.at, r.err
	if r.err != nil {
		l.show(l.status.Load().Problem, now)
		return false
	}
	candidates, decisions := filter.Apply(r.nodes, l.opts.Rules)
	l.narrator.refused(l.source.Decisions, decisions)
	l.source.LastSuccess, l.source.Nodes, l.source.Decisions = r.at, len(r.nodes), decisions
	read := &guard.Read{Nodes: len(r.nodes), Candidates: candidates, Decisions: decisions, Scheduled: r.scheduled}
	if _, notifies := l.opts.Store.(Notifier); !notifies {
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

// countOverruns notes rounds of probes that could not finish within the interval
// (contract 12).
func (l *loop) countOverruns(now time.Time) {
	overruns := l.prober.overruns()
	if overruns != l.overruns {
		l.overruns = overruns
		l.narrator.overran(overruns, now)
		status := *l.status.Load()
		status.Overruns = overruns
		l.status.Store(&status)
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
	switch l.stateOf(r.Address) {
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

// stateOf returns the state that was decided last.
func (l *loop) stateOf(addr netip.Addr) inventory.State {
	i, ok := slices.BinarySearchFunc(l.verdict.Members, addr, func(m inventory.Member, addr netip.Addr) int { return m.Address.Compare(addr) })
	if !ok {
		return inventory.Absent
	}
	return l.verdict.Members[i].State
}

// absorbReport takes in what came of a job of the store.
func (l *loop) absorbReport(r report, now time.Time) bool {
	l.busy = false
	l.pacer.note(r.written, now)
	l.narrator.written(r.written)
	l.narrator.loaded(r.err)
	if r.err != nil {
		l.stale = true
		l.pacer.notUntil = now.Add(l.pacer.failures.next(storeBackoffMax))
		return false
	}
	l.state, l.current = r.state, true
	return true
}

// show publishes what this pass saw and decided.
func (l *loop) show(problem plan.Problem, now time.Time) {
	before := l.status.Load()
	if !before.Decided() || before.Verdict.Mode != l.verdict.Mode {
		l.modeSince = now
	}
	l.narrator.problem(before.Problem, problem)
	l.narrator.owned(before.State.Refused, l.state.Refused)
	status := &Status{
		Verdict: l.verdict, ModeSince: l.modeSince, Health: l.health,
		State: l.state, Problem: problem, Source: l.source, Overruns: l.overruns,
	}
	if l.decided = l.decided || !l.source.LastSuccess.IsZero() || len(l.verdict.Members) > 0; l.decided {
		status.At = now
	}
	l.status.Store(status)
}

// earliest returns the earlier of two times of which a zero one means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
