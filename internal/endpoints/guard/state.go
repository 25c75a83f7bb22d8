package guard

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// decide returns the state that the contract's table gives the address before
// failing open.
func (r *row) decide(w *world) inventory.State {
	switch {
	case !r.isMember():
		return r.decideCandidate()
	case r.was.standing == kept, r.was.standing == unplaced && w.placing.spares:
		return r.decideKept(w)
	case r.was.standing == leaving, r.was.standing == unplaced:
		return r.decideLeaving(w)
	case r.was.drained():
		return r.decideRecovered(w)
	}
	return r.decidePresent(w)
}

// decideCandidate: an address that is not published enters on its first pass.
func (r *row) decideCandidate() inventory.State {
	if r.present() && r.condition == passing {
		return inventory.StateReady
	}
	return inventory.Absent
}

// decidePresent: ready, or down after Fall failures; as before while there is
// nothing to go by.
func (r *row) decidePresent(w *world) inventory.State {
	switch {
	case r.condition == unknown, r.untried(w):
		return r.was.State
	case r.condition == failing:
		return inventory.StateDown
	case r.was.State == inventory.StateDown && !r.returns(w):
		return inventory.StateDown
	}
	return inventory.StateReady
}

// decideLeaving: draining for DrainPeriod while it passes, then removed; removed
// at once when it fails, is down, or was never probed. One that has passed
// is not removed before something present passes: the inventory may be wrong.
func (r *row) decideLeaving(w *world) inventory.State {
	dead := r.condition == failing || r.was.State == inventory.StateDown && !r.returns(w)
	switch {
	case dead && r.lasts(w):
		return inventory.StateDown
	case r.lasts(w):
		return inventory.StateDraining
	case dead, r.neverProbed(w), w.now.Sub(r.leftAt(w)) >= w.policy.DrainPeriod:
		return inventory.Absent
	}
	return inventory.StateDraining
}

// leftAt returns when the drain period of a leaving member begins: when it began to
// leave or, where it was published ready because nothing else that works was,
// when it is not any more.
func (r *row) leftAt(w *world) time.Time {
	if r.was.State == inventory.StateReady {
		return w.now
	}
	return r.was.leaveAt
}

// lasts reports whether a leaving member is not removed yet, because nothing
// present has passed Rise times in a row in its place.
func (r *row) lasts(w *world) bool { return r.everPassed() && !w.replaced }

// mayBeReadyDraining reports whether a leaving member can be published ready: it passes, or
// was ready and is not known to be dead.
func (r *row) mayBeReadyDraining(w *world) bool {
	return !w.policy.HealthOff && (r.condition == passing || r.was.State == inventory.StateReady && r.undecided(w))
}

// undecided reports whether the address fails, but not so that it counts as dead:
// too few times in a row, or together with so many others that the prober is
// presumed cut off.
func (r *row) undecided(w *world) bool {
	return r.condition == belowFall || r.condition == uncounted && (r.elsewhere() || w.cutOff && w.mayDemote && r.silent() && !r.longSilent)
}

// decideKept: ready, or draining where it was announced to leave; down after
// Fall failures. A rejected inventory removes nothing by itself, nor does a placement that
// takes nothing away. One that such a placement does not name drains only while something works
// in its place, and goes on with a drain that had begun.
func (r *row) decideKept(w *world) inventory.State {
	drains := r.was.announced
	if r.was.standing == unplaced {
		drains = w.confirmed && w.replaced && (drains || r.was.State == inventory.StateDraining)
	}
	switch {
	case r.untried(w):
		return r.was.State
	case r.condition == failing:
		return inventory.StateDown
	case r.was.State == inventory.StateDown && !r.returns(w):
		return inventory.StateDown
	case drains:
		return inventory.StateDraining
	}
	return inventory.StateReady
}

// decideRecovered: a member that was draining before a restart stays so until an
// inventory tells what it stands for, unless it fails and something else is confirmed
// to work.
func (r *row) decideRecovered(w *world) inventory.State {
	if r.condition == failing && w.confirmed {
		return inventory.Absent
	}
	return inventory.StateDraining
}

// untried reports whether no result of this process says anything of the address:
// it was never probed, or fails and nothing has passed yet. Then it stays as it
// was published.
func (r *row) untried(w *world) bool {
	return r.neverProbed(w) || r.condition == uncounted && !w.mayDemote
}

// neverProbed reports whether no check of the address ever counted.
func (r *row) neverProbed(w *world) bool { return !r.streak.Known() && !w.policy.HealthOff }

// returns reports whether a member that is down comes back: it passed Rise times
// in a row, or once where a node new to the address has it, or silence took it
// down shortly before the prober was found out to be cut off.
func (r *row) returns(w *world) bool {
	switch {
	case w.policy.HealthOff, r.condition == passing && !r.movedAt().IsZero():
		return true
	case r.condition == passing && r.streak.Passes >= w.policy.Rise:
		return true
	}
	return w.cutOff && !r.was.silenced.IsZero() && w.now.Sub(r.was.silenced) <= w.policy.checks()
}

// remember returns what to remember of an address that is published.
func (r *row) remember(w *world) (m member) {
	m = *r.was
	if !r.isMember() {
		m = member{standing: present, node: r.candidate.Node, movedAt: r.candidate.movedAt, newly: r.candidate.newly}
		m.Address, m.Zone = r.address, r.candidate.Zone
	}
	if m.State != r.next {
		m.since = w.now
	}
	if (m.standing == leaving || m.standing == unplaced || m.drained()) && r.next != inventory.StateReady {
		m.leaveAt = r.leftAt(w)
	}
	m.uncounted, m.failedAt = r.uncounted(), r.failedAt()
	if r.condition == uncounted || w.failOpen {
		m.uncounted, m.failedAt = r.discounted(), time.Time{}
	}
	if r.turned() {
		m.turns, m.downs, m.removeAt = r.streak.Turns, 0, time.Time{}
	}
	if r.condition == passing || r.condition == failing && (r.next == inventory.StateDown || w.failOpen) {
		m.movedAt = time.Time{}
	}
	m.longSilent = r.longSilent || m.longSilent && !r.streak.Known()
	m.everPassed = r.everPassed()
	m.unproved = m.unproved && (m.standing == unplaced || r.condition != passing)
	m.basis = r.basis(w)
	m.evidence = r.rememberEvidence(w, &m)
	m.unconfirmed = m.unconfirmed && r.condition != passing && r.condition != failing
	m.silenced = r.silencedBy(r.next, m.State, m.silenced, w)
	m.State = r.next
	return m
}

// silencedBy returns when silence took the address down, if it is down in its next
// state.
func (r *row) silencedBy(next, before inventory.State, silenced time.Time, w *world) time.Time {
	switch {
	case next != inventory.StateDown:
		return time.Time{}
	case r.silent() && before.Serves() && !w.cutOff: // else no replica reaches it
		return w.now
	}
	return silenced
}

// urgent reports whether the last result contradicts the state, so that the next
// should come soon. While failing open the state comes from no result, and only
// a pass is worth a quick second look.
func (r *row) urgent(w *world) bool {
	rises := r.streak.Passes > 0 && r.streak.Passes < w.policy.Rise
	if r.justPlaced(w) || rises && r.evident == inventory.StateDown { // down in targets where another pool works
		return true
	}
	switch r.next {
	case inventory.StateReady, inventory.StateDraining:
		if w.failOpen {
			return rises
		}
		return r.condition == belowFall && !r.waitsForOthers(w) || r.condition == unknown && !r.was.movedAt.IsZero() || w.readyDraining && r.present() && rises
	case inventory.StateDown:
		return r.streak.Passes > 0
	case inventory.Absent:
	}
	return false
}

// changes returns when time alone will change what is decided of the address, or
// said of it; zero if it will not.
func (r *row) changes(w *world) time.Time {
	var next time.Time
	goes := r.was.standing == leaving || r.was.standing == unplaced && !w.placing.spares
	if r.next == inventory.StateDraining && goes && !r.lasts(w) {
		next = r.leftAt(w).Add(w.policy.DrainPeriod)
	}
	if r.awaitsAnswer(w) {
		next = sooner(next, r.answerEnd(w))
	}
	if r.streak.Trouble != "" && !r.unchecked(w) {
		next = sooner(next, r.streak.TroubleSince.Add(w.policy.checks()+1))
	}
	return next
}
