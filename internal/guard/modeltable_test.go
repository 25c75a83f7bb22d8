package guard_test

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// health is what the probes say of an address: a column of the guard table.
type health int

const (
	passes health = iota
	wavers        // fails, but not often enough, or not so that it counts
	fails
	pending // never probed, or not since it moved
)

func (m *model) health(r *record) health {
	switch {
	case m.policy.HealthOff:
		return passes
	case !r.known(), r.strange():
		return pending
	case r.passes > 0:
		return passes
	case m.cut && r.silent, m.newborn(), r.counted == 0:
		return wavers
	case r.counted >= m.policy.Fall, !r.strangeSince.IsZero():
		return fails
	}
	return wavers
}

// newborn reports whether nothing has passed since a restart: then nobody is
// demoted (contract 28).
func (m *model) newborn() bool { return m.restarted && !m.proven && m.policy.FailOpen }

// decide decides everything, and returns the mode.
func (m *model) decide() guard.Mode {
	m.cut = m.cutOff()
	next := make(map[netip.Addr]inventory.State)
	confirmed, ready := false, 0
	for _, r := range m.records {
		confirmed = confirmed || r.there() && m.health(r) == passes
	}
	for a, r := range m.records {
		next[a] = m.cell(r, confirmed)
	}
	m.failOpen(next)
	for a, r := range m.records {
		ready += map[bool]int{true: 1}[next[a] == inventory.StateReady && r.fails < m.policy.Fall]
	}
	for a, r := range m.records {
		tried := r.known() && !(m.newborn() && m.health(r) == wavers) || m.policy.HealthOff
		if ready == 0 && r.place == doubted && next[a] == inventory.StateDraining && tried {
			next[a] = inventory.StateReady
		}
	}
	mode := m.mode(next)
	for a, r := range m.records {
		m.settle(a, r, next[a])
	}
	return mode
}

// cell is the guard table.
func (m *model) cell(r *record, confirmed bool) inventory.State {
	h := m.health(r)
	never := !r.known() && !m.policy.HealthOff
	stuck := r.state == inventory.StateDown && !m.back(r, h)
	newborn := m.newborn() && h == wavers
	switch {
	case !r.member() && h == passes && r.place == staying:
		return inventory.StateReady
	case !r.member():
		return inventory.Absent

	case r.place == unread && r.state == inventory.StateDraining && h == fails && confirmed:
		return inventory.Absent
	case r.place == unread && r.state == inventory.StateDraining:
		return inventory.StateDraining

	case r.there() && (h == pending || newborn):
		return r.state
	case r.there() && (h == fails || stuck):
		return inventory.StateDown
	case r.there():
		return inventory.StateReady

	case r.place == gone && (h == fails || never || stuck || m.now.Sub(r.goneAt) >= m.policy.DrainPeriod):
		return inventory.Absent
	case r.place == gone:
		return inventory.StateDraining

	case h == fails && confirmed:
		return inventory.Absent
	case never, newborn:
		return r.state
	case stuck:
		return inventory.StateDown
	case r.announced:
		return inventory.StateDraining
	}
	return inventory.StateReady
}

// back reports whether a member that is down comes back: contract 10, 7 and 14.
func (m *model) back(r *record, h health) bool {
	recently := !r.silencedAt.IsZero() && m.now.Sub(r.silencedAt) <= time.Duration(m.policy.Fall)*m.policy.Interval
	return m.policy.HealthOff || m.cut && recently ||
		h == passes && (r.passes >= m.policy.Rise || !r.strangeSince.IsZero())
}

// hopeless reports whether all who are there failed FALL times, whoever is to
// blame; our own troubles alone prove nothing.
func (m *model) hopeless() bool {
	failed := 0
	for _, r := range m.records {
		switch {
		case !r.there(), !r.known() && r.troubled:
		case r.fails < m.policy.Fall:
			return false
		default:
			failed++
		}
	}
	return failed > 0
}

// failOpen is contract 15.
func (m *model) failOpen(next map[netip.Addr]inventory.State) {
	there, risen, serves, served := 0, false, false, false
	for a, r := range m.records {
		if r.there() {
			there++
			risen = risen || r.passes >= m.policy.Rise
		}
		serves = serves || next[a] == inventory.StateReady || next[a] == inventory.StateDraining && m.health(r) != fails
		served = served || r.serving()
	}
	empty := there > 0 && !serves && (served || m.hopeless())
	if m.open {
		empty = there > 0 && !risen
	}
	m.open = empty && m.policy.FailOpen
	for a, r := range m.records {
		switch {
		case empty && r.there() && m.policy.FailOpen:
			next[a] = inventory.StateReady
		case empty && r.there():
			next[a] = inventory.StateDown
		}
	}
}

// mode is contract 16: what is shown.
func (m *model) mode(next map[netip.Addr]inventory.State) guard.Mode {
	if m.open || m.newborn() && m.hopeless() && !m.policy.HealthOff {
		return guard.FailOpen
	}
	for a, r := range m.records {
		if r.member() && r.place == doubted && next[a] != inventory.Absent {
			return guard.Hold
		}
		spared := m.cut && !m.newborn() && r.member() && r.silent && r.fails >= m.policy.Fall
		if spared && next[a] == inventory.StateReady {
			return guard.Hold
		}
	}
	return guard.Publish
}

// settle makes the decision the past.
func (m *model) settle(a netip.Addr, r *record, next inventory.State) {
	h := m.health(r)
	if m.open || h == wavers && (m.cut && r.silent || m.newborn()) {
		r.counted = 0
	}
	if next == inventory.Absent {
		if !r.listed {
			delete(m.records, a)
			return
		}
		if r.member() {
			*r = record{place: nowhere, node: r.node, listed: true, strangeSince: r.strangeSince, score: r.score}
		}
		r.counted = r.fails
		return
	}
	if h == passes || h == fails && (next == inventory.StateDown || m.open) {
		r.strangeSince = time.Time{}
	}
	switch {
	case next != inventory.StateDown:
		r.silencedAt = time.Time{}
	case r.serving() && r.fails > 0 && r.silent:
		r.silencedAt = m.now
	}
	r.state = next
}
