package guard

import (
	"fmt"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// world is what one decision presumes about the family as a whole.
type world struct {
	policy Policy
	now    time.Time
	// present and silent count the present members, and those of them whose
	// last result is silence, even a single one: jitter lets nobody slip through.
	present, silent int
	// cutOff: so many are silent that it is the prober's fault (contract 14).
	cutOff bool
	// silence is what to say of it.
	silence string
	// confirmed: some present address passes, so that prober and read both see
	// something real.
	confirmed bool
	// mayDemote: failures may take members away. After a restart none counts
	// before a probe has passed (contract 28).
	mayDemote bool
	// blind: mayDemote is false and every present address fails.
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
	for i := range rows {
		p.proven = p.proven || rows[i].streak.Passes > 0
	}
	w := &world{policy: policy, now: now, mayDemote: p.proven || !p.recovered || !policy.FailOpen}
	w.countSilent(rows)
	for i := range rows {
		rows[i].condition = rows[i].assess(w)
		w.confirmed = w.confirmed || rows[i].present() && rows[i].condition == passing
	}
	for i := range rows {
		rows[i].next = rows[i].decide(w)
	}
	w.blind = !w.mayDemote && hopeless(rows, policy)
	failOpen(p, rows, w)
	keepReady(rows, w)
	return rule(p, rows, w)
}

// countSilent presumes that the prober is cut off when more than min(N-1,
// MaxSilentPercent of N) of the N present members are silent at once.
func (w *world) countSilent(rows []row) {
	for i := range rows {
		r := &rows[i]
		if !r.isMember() || !r.present() {
			continue
		}
		w.present++
		if r.silent() {
			w.silent++
		}
	}
	w.cutOff = w.silent > 0 && w.silent*100 > min((w.present-1)*100, w.policy.MaxSilentPercent*w.present)
	if w.cutOff {
		w.silence = fmt.Sprintf("%d of %d present members are silent at once: all of them, or more than HEALTH_CHECK_MAX_SILENT_PERCENT=%d; the prober is presumed cut off", w.silent, w.present, w.policy.MaxSilentPercent)
	}
}

// keepReady leaves members ready that a suspect read announces to leave, when
// nothing else that works is ready: not every consumer of slices falls back to
// draining endpoints, none does while a dead one is ready, and one mistaken read
// must not take all of them away.
func keepReady(rows []row, w *world) {
	for i := range rows {
		if rows[i].next == inventory.StateReady && rows[i].streak.Fails < w.policy.Fall {
			return
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.was.standing == held && r.next == inventory.StateDraining && !r.untried(w) {
			r.next = inventory.StateReady
		}
	}
}

// failOpen publishes every present candidate when health alone would leave
// nothing to send traffic to: ready, until one of them has passed Rise times, or
// down, where the operator switched failing open off.
func failOpen(p pool, rows []row, w *world) {
	engaged := nothingServes(rows, w.policy)
	if p.failOpen {
		engaged = !recovering(rows, w.policy)
	}
	if !engaged {
		return
	}
	w.failOpen = w.policy.FailOpen
	state := inventory.StateDown
	if w.failOpen {
		state = inventory.StateReady
	}
	for i := range rows {
		if rows[i].present() {
			rows[i].next = state
		}
	}
}

// nothingServes reports whether what was decided leaves nothing to send traffic
// to although candidates are present. A draining member that works counts as
// something, because publishing failing ones as ready would keep traffic from
// it. Where nothing served before, it takes Fall failures of every candidate.
func nothingServes(rows []row, policy Policy) bool {
	anyPresent, served := false, false
	for i := range rows {
		r := &rows[i]
		if r.next == inventory.StateReady || r.next == inventory.StateDraining && r.condition != failing {
			return false
		}
		served = served || r.was.State == inventory.StateReady || r.was.State == inventory.StateDraining
		anyPresent = anyPresent || r.present()
	}
	return anyPresent && (served || hopeless(rows, policy))
}

// hopeless reports whether all present addresses failed Fall times in a row,
// excused or not. Those that our own troubles kept from being checked at all do
// not stand in the way.
func hopeless(rows []row, policy Policy) bool {
	anyFails := false
	for i := range rows {
		r := &rows[i]
		switch {
		case !r.present(), !r.streak.Known() && r.streak.Trouble != "":
		case r.streak.Fails >= policy.Fall:
			anyFails = true
		default:
			return false
		}
	}
	return anyFails
}

// recovering reports whether FailOpen may end: a present candidate passed Rise
// times in a row, or none is left.
func recovering(rows []row, policy Policy) bool {
	anyPresent := false
	for i := range rows {
		r := &rows[i]
		if r.present() && r.streak.Passes >= policy.Rise {
			return true
		}
		anyPresent = anyPresent || r.present()
	}
	return !anyPresent
}

// rule makes the ruling: the members for the next time, and what to say.
func rule(p pool, rows []row, w *world) ruling {
	r := ruling{pool: p}
	r.pool.failOpen = w.failOpen
	r.pool.members = make([]member, 0, len(rows))
	r.watch = make([]Watch, 0, len(rows))
	r.decisions = make([]inventory.Decision, 0, len(rows))
	for i := range rows {
		row := &rows[i]
		if row.next != inventory.Absent {
			r.pool.members = append(r.pool.members, row.remember(w))
		}
		if row.next != inventory.Absent || row.listed() {
			r.watch = append(r.watch, Watch{Address: row.address, Urgent: row.urgent(w)})
		}
		r.decisions = append(r.decisions, row.decision(p, w))
		if until := row.drained(w); !until.IsZero() && (r.next.IsZero() || until.Before(r.next)) {
			r.next = until
		}
	}
	r.pool.members = slices.Clip(r.pool.members)
	r.mode, r.cause, r.message = mode(p, rows, w)
	return r
}
