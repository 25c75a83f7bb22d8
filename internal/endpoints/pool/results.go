package pool

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// results takes results of checks in, and reports whether they call for a pass
// now. Those that can change no decision wait for the next that can, or for the
// next heartbeat. Where local errors begin or end, that heartbeat makes a pass.
func (l *loop) results(results []inventory.Result, now time.Time) bool {
	l.holder.answer(results)
	l.intake.put(results)
	urgency := useless
	for _, r := range results {
		urgency = max(urgency, l.urgencyOf(r))
	}
	switch {
	case urgency == useless:
		if l.pace.due.IsZero() && slices.ContainsFunc(results, l.turnsTrouble) {
			l.pace.due = l.beatDue
		}
		return false
	case urgency == useful && now.Before(l.pace.earliest):
		l.pace.due = l.pace.earliest
		return false
	}
	return true
}

// urgency is how soon a result calls for a pass.
type urgency int

const (
	// useless: it can change no decision.
	useless urgency = iota
	// useful: it may change one, but not urgently.
	useful
	// urgent: it may take a dead endpoint away or bring one back.
	urgent
)

// urgencyOf says how soon a result calls for a pass. While failing open, or while
// silence is put down to the prober, further failures of the same kind are only
// useful.
func (l *loop) urgencyOf(r inventory.Result) urgency {
	switch {
	case r.Outcome == inventory.Elsewhere:
		return urgent
	case !l.matters(r):
		return useless
	case r.Outcome == inventory.Pass:
		return urgent
	case l.verdict.Mode == guard.FailOpen, l.verdict.Cause == guard.ProbesSilent && r.Outcome != inventory.Refused:
		return useful
	}
	return urgent
}

// matters reports whether a result may change a decision: all do but one more
// pass of an endpoint that has long passed, and one more like failure of an
// address that is already down. While failing open, every result may end that,
// and so it may where an address is checked faster because its state is in question.
func (l *loop) matters(r inventory.Result) bool {
	streak, policy := l.intake.health.Of(r.Address), l.opts.Policy
	if l.verdict.Mode == guard.FailOpen || l.intake.inventory != nil || watchOf(l.verdict.Watch, r.Address).Urgent {
		return true
	}
	switch inventory.StateOf(l.verdict.Members, r.Address) {
	case inventory.StateReady, inventory.StateDraining:
		return r.Outcome != inventory.Pass && r.Outcome != inventory.LocalError || streak.Passes < policy.Rise
	case inventory.StateDown, inventory.Absent:
	}
	return r.Outcome == inventory.Pass || streak.Fails < policy.Fall || r.Outcome != streak.Last.Outcome
}

// turnsTrouble reports whether local errors begin or end with the result.
func (l *loop) turnsTrouble(r inventory.Result) bool {
	return r.Outcome != inventory.Elsewhere && (l.intake.health.Of(r.Address).Trouble == "") == (r.Outcome == inventory.LocalError)
}

// watchOf returns how an address is watched, the zero value where it is not.
func watchOf(watched []inventory.Watch, addr netip.Addr) (of inventory.Watch) {
	if i, ok := slices.BinarySearchFunc(watched, addr, func(w inventory.Watch, addr netip.Addr) int { return w.Address.Compare(addr) }); ok {
		of = watched[i]
	}
	return of
}

// pace keeps passes that are not urgent apart, so that they take at most a fifth of
// a processor when every check fails.
type pace struct {
	// earliest is when the next pass that is not urgent may be made, and due when
	// one is wanted, zero if none is.
	earliest, due time.Time
}

// passed notes a pass.
func (p *pace) passed(began, ended time.Time, v *guard.Verdict) {
	p.due, p.earliest = time.Time{}, time.Time{}
	if v.Mode == guard.FailOpen || v.Cause == guard.ProbesSilent {
		p.earliest = ended.Add(4 * ended.Sub(began))
	}
}
