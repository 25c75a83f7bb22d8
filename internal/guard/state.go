package guard

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// decide returns the state that the contract's table gives the address before
// failing open.
func (r row) decide(w world) inventory.State {
	if !r.isMember {
		if r.condition == passing && r.present() {
			return inventory.StateReady
		}
		return inventory.Absent
	}
	switch r.was.standing {
	case leaving:
		return r.decideLeaving(w)
	case held:
		return r.decideHeld(w)
	case present, unread:
	}
	return r.decidePresent(w)
}

// decidePresent: ready, or down after Fall failures; as before while there is
// nothing to go by.
func (r row) decidePresent(w world) inventory.State {
	switch {
	case r.condition == unknown, r.condition == failing && !w.mayDemote:
		return r.was.State
	case r.was.standing == unread && r.was.State == inventory.StateDraining:
		return inventory.StateDraining
	case r.condition == failing:
		return inventory.StateDown
	case r.was.State == inventory.StateDown && !r.returns(w):
		return inventory.StateDown
	}
	return inventory.StateReady
}

// decideLeaving: draining for DrainPeriod while it passes, then removed; removed
// at once when it fails.
func (r row) decideLeaving(w world) inventory.State {
	switch {
	case r.condition == unknown, r.condition == failing && w.mayDemote:
		return inventory.Absent
	case w.now.Sub(r.was.leaveAt) >= w.policy.DrainPeriod:
		return inventory.Absent
	}
	return inventory.StateDraining
}

// decideHeld: ready while it passes, or draining where it was announced to
// leave; removed when it fails and something else is confirmed to work.
func (r row) decideHeld(w world) inventory.State {
	switch {
	case r.condition == failing && w.confirmed:
		return inventory.Absent
	case r.condition == failing, r.condition == unknown:
		return r.was.State
	case r.was.State == inventory.StateDown && !r.returns(w):
		return inventory.StateDown
	case r.was.announced:
		return inventory.StateDraining
	}
	return inventory.StateReady
}

// returns reports whether a member that is down comes back: it passed Rise times
// in a row, or silence took it down shortly before the prober was found out to
// be cut off.
func (r row) returns(w world) bool {
	if w.policy.HealthOff || r.streak.Passes >= w.policy.Rise {
		return true
	}
	recently := time.Duration(w.policy.Fall) * w.policy.Interval
	return w.cutOff && r.silent() && !r.was.silenced.IsZero() && w.now.Sub(r.was.silenced) <= recently
}

// member returns what to remember of an address that is published.
func (r row) member(w world) member {
	m := r.was
	if !r.isMember {
		m = member{standing: present, node: r.candidate.Node}
		m.Address, m.Zone = r.address, r.candidate.Zone
	}
	if m.State != r.next {
		m.since = w.now
	}
	m.forgiven = r.forgiven()
	if r.condition == excused || w.failOpen && w.policy.FailOpen || w.blind {
		m.forgiven = r.streak.Fails
	}
	if r.condition == passing || r.condition == failing {
		m.movedAt = time.Time{}
	}
	switch {
	case r.next != inventory.StateDown:
		m.silenced = time.Time{}
	case m.State != inventory.StateDown && r.silent():
		m.silenced = w.now
	}
	m.State = r.next
	return m
}

// urgent reports whether the last result contradicts the state, so that the next
// should come soon.
func (r row) urgent(w world) bool {
	switch r.next {
	case inventory.StateReady, inventory.StateDraining:
		waiting := w.failOpen && r.streak.Passes > 0
		return r.condition == wavering || waiting || !r.was.movedAt.IsZero() && r.condition == unknown
	case inventory.StateDown:
		return r.streak.Passes > 0
	case inventory.Absent:
	}
	return false
}

// drained returns when a draining member is to be removed, zero for others.
func (r row) drained(w world) time.Time {
	if r.next != inventory.StateDraining || r.was.standing != leaving {
		return time.Time{}
	}
	return r.was.leaveAt.Add(w.policy.DrainPeriod)
}
