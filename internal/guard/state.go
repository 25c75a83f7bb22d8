package guard

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// decide returns the state that the contract's table gives the address before
// failing open.
func (r *row) decide(w *world) inventory.State {
	switch {
	case !r.isMember():
		return r.decideCandidate()
	case r.was.standing == leaving:
		return r.decideLeaving(w)
	case r.was.standing == held:
		return r.decideHeld(w)
	case r.was.standing == unread && r.was.State == inventory.StateDraining:
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
// at once when it fails, is down, or was never probed.
func (r *row) decideLeaving(w *world) inventory.State {
	switch {
	case r.condition == failing:
		return inventory.Absent
	case r.was.State == inventory.StateDown && !r.returns(w):
		return inventory.Absent
	case r.neverProbed(w):
		return inventory.Absent
	case w.now.Sub(r.was.leaveAt) >= w.policy.DrainPeriod:
		return inventory.Absent
	}
	return inventory.StateDraining
}

// decideHeld: ready, or draining where it was announced to leave; down stays
// down; removed when it fails and something else is confirmed to work.
func (r *row) decideHeld(w *world) inventory.State {
	switch {
	case r.condition == failing && w.confirmed:
		return inventory.Absent
	case r.untried(w):
		return r.was.State
	case r.was.State == inventory.StateDown && !r.returns(w):
		return inventory.StateDown
	case r.was.announced:
		return inventory.StateDraining
	}
	return inventory.StateReady
}

// decideRecovered: a member that was draining before a restart stays so until a
// read tells what it stands for, unless it fails and something else is confirmed
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
	return r.neverProbed(w) || r.condition == excused && !w.mayDemote
}

// neverProbed reports whether no check of the address ever counted.
func (r *row) neverProbed(w *world) bool { return !r.streak.Known() && !w.policy.HealthOff }

// returns reports whether a member that is down comes back: it passed Rise times
// in a row, or once where a node new to the address has it, or silence took it
// down shortly before the prober was found out to be cut off.
func (r *row) returns(w *world) bool {
	switch {
	case w.policy.HealthOff, r.condition == passing && !r.was.movedAt.IsZero():
		return true
	case r.condition == passing && r.streak.Passes >= w.policy.Rise:
		return true
	}
	window := time.Duration(w.policy.Fall) * w.policy.Interval
	return w.cutOff && !r.was.silenced.IsZero() && w.now.Sub(r.was.silenced) <= window
}

// remember returns what to remember of an address that is published.
func (r *row) remember(w *world) member {
	m := *r.was
	if !r.isMember() {
		m = member{standing: present, node: r.candidate.Node, movedAt: r.candidate.movedAt}
		m.Address, m.Zone = r.address, r.candidate.Zone
	}
	if m.State != r.next {
		m.since = w.now
	}
	m.forgiven = r.forgiven()
	if r.condition == excused || w.failOpen {
		m.forgiven = r.streak.Fails
	}
	if r.condition == passing || r.condition == failing && (r.next == inventory.StateDown || w.failOpen) {
		m.movedAt = time.Time{}
	}
	switch served := m.State == inventory.StateReady || m.State == inventory.StateDraining; {
	case r.next != inventory.StateDown:
		m.silenced = time.Time{}
	case served && r.silent():
		m.silenced = w.now
	}
	m.State = r.next
	return m
}

// urgent reports whether the last result contradicts the state, so that the next
// should come soon. While failing open the state comes from no result, and only
// a pass is worth a quick second look.
func (r *row) urgent(w *world) bool {
	switch r.next {
	case inventory.StateReady, inventory.StateDraining:
		if w.failOpen {
			return r.streak.Passes > 0 && r.streak.Passes < w.policy.Rise
		}
		return r.condition == wavering || r.condition == unknown && !r.was.movedAt.IsZero()
	case inventory.StateDown:
		return r.streak.Passes > 0
	case inventory.Absent:
	}
	return false
}

// drained returns when a draining member is to be removed, zero for others.
func (r *row) drained(w *world) time.Time {
	if r.next != inventory.StateDraining || r.was.standing != leaving {
		return time.Time{}
	}
	return r.was.leaveAt.Add(w.policy.DrainPeriod)
}
