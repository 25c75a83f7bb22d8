package guard

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// condition is what the probes say of an address, without the results that do not
// count.
type condition uint8

const (
	// unknown: no probe has counted yet, or none since the address moved.
	unknown condition = iota
	// uncounted: it fails, but no failure counts (yet).
	uncounted
	// passing: the last result is a pass.
	passing
	// belowFall: it fails, fewer than Fall times in a row.
	belowFall
	// failing: it fails, Fall times in a row or more.
	failing
)

// row is one address on its way through a decision.
type row struct {
	address netip.Addr
	// was is the member before the decision, in no state if it was none.
	was *member
	// candidate is the newest inventory's, without an address if there is none.
	candidate *candidate
	streak    *inventory.Streak
	condition condition
	// next is the state that was decided.
	next inventory.State
	// longSilent: silent for so long that it proves nothing about the prober.
	longSilent bool
	// evident is the state by evidence; shadow is what that was decided on, nil
	// where it is the row itself.
	evident inventory.State
	shadow  *row
	// waits: as it was, until a first check of others tells whether anything
	// works.
	waits bool
	// drains: leaving, and ready because nothing else that passes is.
	drains bool
	// accepted: its removal by rejected inventories was accepted.
	accepted bool
}

// join pairs every member with its candidate and streak, and adds the
// candidates that are not members; rows are sorted by address.
func join(p pool, health inventory.Health) []row {
	noMember, noCandidate, noStreak, streaks := &member{}, &candidate{}, &inventory.Streak{}, health.Walk()
	rows := make([]row, 0, max(len(p.members), len(p.candidates)))
	m, c := 0, 0
	for m < len(p.members) || c < len(p.candidates) {
		order := 0
		switch {
		case m == len(p.members):
			order = 1
		case c == len(p.candidates):
			order = -1
		default:
			order = p.members[m].Address.Compare(p.candidates[c].Address)
		}
		r := row{was: noMember, candidate: noCandidate, streak: noStreak}
		if order <= 0 {
			r.was, r.address = p.members[m], p.members[m].Address
			m++
		}
		if order >= 0 {
			r.candidate, r.address = p.candidates[c], p.candidates[c].Address
			c++
		}
		if streak := streaks.Peek(r.address); streak != nil {
			r.streak = streak
		}
		rows = append(rows, r)
	}
	return rows
}

// some reports whether something is so of any of the addresses.
func some(rows []row, is func(*row) bool) bool {
	for i := range rows {
		if is(&rows[i]) {
			return true
		}
	}
	return false
}

// isMember reports whether the address was published before the decision.
func (r *row) isMember() bool { return r.was.State != inventory.Absent }

// listed reports whether the newest read lists the address.
func (r *row) listed() bool { return r.candidate.Address.IsValid() }

// present reports whether the address counts as there and staying: listed, with a
// ready Pod where that is asked for, and not leaving or, before any inventory, recovered as one
// that does not drain.
func (r *row) present() bool {
	if r.isMember() {
		return r.was.standing == present || r.was.standing == unread && r.was.found != inventory.StateDraining
	}
	return !r.candidate.Leaving && !r.candidate.podless
}

// watched reports whether the address is to be checked.
func (r *row) watched() bool {
	return r.next != inventory.Absent || r.listed() && !r.candidate.podless
}

// kept reports whether a rejected inventory announces the address to leave, or
// leaves it out.
func (r *row) kept() bool { return r.was.standing == kept }

// stranger reports whether only slices speak for the address: it came from one, and the
// inventories that were read since leave it out.
func (r *row) stranger() bool { return r.was.unlisted && r.was.standing != unread }

// stays reports whether the address is present or kept: it may be failed open.
func (r *row) stays() bool { return r.present() || r.kept() }

// silent reports whether the last result is silence.
func (r *row) silent() bool { return r.streak.Last.Outcome == inventory.Silent }

// passes reports whether the last result is a pass, and of the node that has the
// address now.
func (r *row) passes(policy Policy) bool {
	return policy.HealthOff || r.streak.Passes > 0 && !r.streak.Last.At.Before(r.movedAt())
}

// turned reports whether the streak is another one than at the last decision: a
// pass came, even if failures have followed it since.
func (r *row) turned() bool { return r.streak.Turns != r.was.turns }

// everPassed reports whether the address has passed once, or came from a slice.
func (r *row) everPassed() bool { return r.was.everPassed || r.streak.Passes > 0 || r.streak.Turns > 0 }

// fails returns how many failures in a row count. Those do not that another replica answered
// with a connection (contract 239).
func (r *row) fails() int {
	u := r.uncounted()
	return r.streak.Fails - u.failures - max(0, r.streak.Unconnected.Elsewhere-u.unconnected)
}

// uncounted returns how many failures of the running streak do not count.
func (r *row) uncounted() discount {
	if r.turned() || r.streak.Fails < r.was.uncounted.failures {
		return discount{}
	}
	return r.was.uncounted
}

// discounted returns that none of the failures so far counts.
func (r *row) discounted() discount {
	return discount{r.streak.Fails, r.streak.Unconnected.Failures}
}

// movedAt returns when another node took over the address, until a result that
// was sent later has counted.
func (r *row) movedAt() time.Time {
	if r.isMember() {
		return r.was.movedAt
	}
	return r.candidate.movedAt
}

// unchecked reports whether only local errors came for longer than Fall
// intervals.
func (r *row) unchecked(w *world) bool {
	return r.streak.Trouble != "" && w.now.Sub(r.streak.TroubleSince) > w.policy.checks()
}

// assess says what the probes say of the address. On a node that is new to the
// address one failure is enough: nothing was known in its favour.
func (r *row) assess(w *world) condition {
	moved := r.movedAt()
	switch {
	case r.passes(w.policy):
		return passing
	case !r.streak.Known(), r.streak.Last.At.Before(moved):
		return unknown
	case !w.mayDemote:
		return uncounted
	case w.cutOff && r.silent() && !r.longSilent:
		return r.assessCutOff(w)
	case r.awaitsAnswer(w):
		return belowFall
	case r.fails() >= w.policy.Fall, r.fails() > 0 && !moved.IsZero():
		return failing
	case r.fails() > 0:
		return belowFall
	}
	return uncounted
}
