package syncer

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
)

// pass is the picture of the package comment: what was read and probed becomes a
// verdict, the verdict becomes slices, and the difference is written.
func (l *loop) pass() {
	// First, so that what was put aside goes with an address that this pass drops.
	l.fold()
	now := time.Now()
	verdict := guard.Decide(guard.Input{Now: now, Read: l.fresh, Health: l.health, Memory: l.memory}, l.opts.Policy)
	desired, problem := plan.Desired(verdict.Members, l.state, l.opts.Target)
	writes := plan.Diff(l.state.Slices, desired)
	l.remember(verdict, now)
	l.watch()
	l.send(writes, now)
	l.count(writes, problem)
	l.show(problem, now)
}

// count adds the pass to the totals.
func (l *loop) count(writes []plan.Write, problem plan.Problem) {
	l.written.Pending = len(writes)
	switch {
	case problem.Kind != "":
		l.counts.Blocked++
	case len(writes) > 0:
		l.counts.Changed++
	default:
		l.counts.Unchanged++
	}
}

// remember makes the verdict the base of the next one.
func (l *loop) remember(verdict guard.Verdict, now time.Time) {
	// What is no longer watched is forgotten at once, and nothing is put aside now:
	// when the address comes back, on whatever node, an old pass must not let it in
	// (contract 7).
	if l.fresh != nil || len(verdict.Watch) < len(l.verdict.Watch) {
		l.health = probe.Keep(l.health, addresses(verdict.Watch))
	}
	changes := compareMembers(l.verdict.Members, verdict.Members)
	l.narrator.decided(l.verdict, verdict, changes)
	for _, c := range changes {
		l.counts.Moves[c.to]++
	}
	l.verdict, l.judged, l.memory, l.fresh = verdict, now, verdict.Memory, nil
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
	l.busy, l.stale, l.sent = true, false, now
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

// show publishes what this pass saw and decided.
func (l *loop) show(problem plan.Problem, now time.Time) {
	before := l.status.Load()
	if !before.Decided() || before.Verdict.Mode != l.verdict.Mode {
		l.modeSince = now
	}
	l.narrator.seen(before.State, l.state)
	l.narrator.problem(before.Problem, problem)
	l.findings = findings(l.findings, l.source.Decisions, l.verdict, l.judged, now)
	l.narrator.found(l.findings, now)
	status := &Status{
		Verdict: l.verdict, ModeSince: l.modeSince, Health: l.health,
		State: l.state, Problem: problem, Source: l.source, Store: l.written,
		Findings: l.findings, Cycles: l.cycles, Counts: l.counts,
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
