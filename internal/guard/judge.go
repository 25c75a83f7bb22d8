package guard

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// condition is what the probes say of an address, after all excuses.
type condition uint8

const (
	// unknown: no probe has counted yet.
	unknown condition = iota
	// excused: it fails, but no failure counts (yet).
	excused
	// passing: the last result is a pass.
	passing
	// wavering: it fails, fewer than Fall times in a row.
	wavering
	// failing: it fails, Fall times in a row or more.
	failing
)

// row is one address on its way through a decision.
type row struct {
	address   netip.Addr
	isMember  bool
	was       member
	listed    bool
	candidate inventory.Candidate
	streak    inventory.Streak
	condition condition
	// next is the state that was decided.
	next inventory.State
}

// world is what one decision presumes about the family as a whole.
type world struct {
	policy Policy
	now    time.Time
	// present and silent count the present members, and those of them whose
	// last result is silence.
	present, silent int
	// cutOff: so many are silent that it is the prober's fault (contract 14).
	cutOff bool
	// confirmed: some listed candidate passes, so prober and read see something
	// real.
	confirmed bool
	// mayDemote: failures may take members away (contract 28).
	mayDemote bool
	// blind: nothing has passed since a restart, so members stay as they were.
	blind bool
	// failOpen: every present candidate is published (contract 15).
	failOpen bool
}

// ruling is what was decided of one family.
type ruling struct {
	pool      pool
	mode      Mode
	cause     Cause
	message   string
	decisions []inventory.Decision
	watch     []Watch
	next      time.Time
}

// judge decides the state of every member and candidate of one family.
func judge(p pool, health inventory.Health, now time.Time, policy Policy) ruling {
	rows := join(p, health)
	w := world{policy: policy, now: now}
	w.cutOff, w.silent, w.present = cutOff(rows, policy)
	for i := range rows {
		rows[i].condition = rows[i].assess(w)
		p.proven = p.proven || rows[i].streak.Passes > 0
		w.confirmed = w.confirmed || rows[i].listed && rows[i].condition == passing
	}
	w.mayDemote = p.proven || !p.recovered || !policy.FailOpen
	for i := range rows {
		rows[i].next = rows[i].decide(w)
	}
	w.blind = !w.mayDemote && everyPresentFails(rows)
	w.failOpen = p.failOpen && !recovering(rows, policy) || !p.failOpen && nothingReady(rows)
	if policy.HealthOff {
		w.failOpen = false
	}
	if w.failOpen {
		publishPresent(rows, policy)
	}
	return rule(p, rows, w)
}

// join pairs every member with its candidate and streak, and adds the
// candidates that are not members; rows are sorted by address.
func join(p pool, health inventory.Health) []row {
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
		var r row
		if order <= 0 {
			r.isMember, r.was, r.address = true, p.members[m], p.members[m].Address
			m++
		}
		if order >= 0 {
			r.listed, r.candidate, r.address = true, p.candidates[c], p.candidates[c].Address
			c++
		}
		r.streak = health[r.address]
		rows = append(rows, r)
	}
	return rows
}

// present reports whether the address counts as there and staying: listed and
// not leaving or, before any read, recovered.
func (r row) present() bool {
	if r.isMember {
		return r.was.standing == present || r.was.standing == unread && r.was.State != inventory.StateDraining
	}
	return r.listed && !r.candidate.Leaving
}

// silent reports whether the last result is silence.
func (r row) silent() bool { return r.streak.Fails > 0 && r.streak.Last.Outcome == inventory.Silent }

// cutOff reports whether more than min(N-1, MaxSilentPercent of N) of the N
// present members are silent at once, and both counts.
func cutOff(rows []row, policy Policy) (cut bool, silent, n int) {
	for _, r := range rows {
		if !r.isMember || !r.present() {
			continue
		}
		n++
		if r.silent() {
			silent++
		}
	}
	limit := min((n-1)*100, policy.MaxSilentPercent*n)
	return silent > 0 && silent*100 > limit, silent, n
}

// fails returns how many failures in a row count.
func (r row) fails() int { return max(0, r.streak.Fails-r.forgiven()) }

// forgiven returns how many failures of the running streak do not count.
func (r row) forgiven() int {
	if r.streak.Fails < r.was.forgiven {
		return 0
	}
	return r.was.forgiven
}

// assess says what the probes say of the address.
func (r row) assess(w world) condition {
	switch moved := !r.was.movedAt.IsZero(); {
	case w.policy.HealthOff:
		return passing
	case !r.streak.Known(), moved && !r.streak.Last.At.After(r.was.movedAt):
		return unknown
	case r.streak.Passes > 0:
		return passing
	case w.cutOff && r.silent():
		return excused
	case moved:
		return failing
	case r.fails() >= w.policy.Fall:
		return failing
	case r.fails() > 0:
		return wavering
	}
	return excused
}

// everyPresentFails reports whether there are present addresses and all fail.
func everyPresentFails(rows []row) bool {
	any := false
	for _, r := range rows {
		if !r.present() {
			continue
		}
		if r.condition != failing && (r.condition != excused || r.streak.Fails == 0) {
			return false
		}
		any = true
	}
	return any
}

// recovering reports whether FailOpen may end: a present candidate passed Rise
// times in a row, or none is left.
func recovering(rows []row, policy Policy) bool {
	any := false
	for _, r := range rows {
		if !r.present() {
			continue
		}
		if r.streak.Passes >= policy.Rise {
			return true
		}
		any = true
	}
	return !any
}

// nothingReady reports whether health would leave nothing to send traffic to
// although candidates are present. Where nothing was ready before, that takes
// Fall failures of each of them.
func nothingReady(rows []row) bool {
	anyPresent, wasReady, allFail := false, false, true
	for _, r := range rows {
		if r.next == inventory.StateReady || r.next == inventory.StateDraining {
			return false
		}
		wasReady = wasReady || r.isMember && r.was.State == inventory.StateReady
		if r.present() {
			anyPresent = true
			allFail = allFail && r.condition == failing
		}
	}
	return anyPresent && (wasReady || allFail)
}

// publishPresent publishes every present candidate: ready, or down where the
// operator switched failing open off.
func publishPresent(rows []row, policy Policy) {
	state := inventory.StateReady
	if !policy.FailOpen {
		state = inventory.StateDown
	}
	for i := range rows {
		if rows[i].present() && rows[i].next != inventory.StateReady {
			rows[i].next = state
		}
	}
}

// rule makes the ruling: the members for the next time, and what to say.
func rule(p pool, rows []row, w world) ruling {
	r := ruling{pool: p}
	r.pool.failOpen = w.failOpen && w.policy.FailOpen
	r.pool.members = make([]member, 0, len(rows))
	r.watch = make([]Watch, 0, len(rows))
	r.decisions = make([]inventory.Decision, 0, len(rows))
	for _, row := range rows {
		if row.next != inventory.Absent {
			r.pool.members = append(r.pool.members, row.member(w))
		}
		if row.next != inventory.Absent || row.listed {
			r.watch = append(r.watch, Watch{Address: row.address, Urgent: row.urgent(w)})
		}
		r.decisions = append(r.decisions, row.decision(p, w))
		if until := row.drained(w); !until.IsZero() && (r.next.IsZero() || until.Before(r.next)) {
			r.next = until
		}
	}
	r.mode, r.cause, r.message = mode(p, rows, w)
	r.pool.members = slices.Clip(r.pool.members)
	return r
}
