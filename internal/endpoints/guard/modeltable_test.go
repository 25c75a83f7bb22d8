package guard_test

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// health is what the probes say of an address: a column of the guard table.
type health int

const (
	passes    health = iota
	belowFall        // fails, but too few times, or not in a way that counts
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
	case m.uncounted(r), r.counted() == 0:
		return belowFall
	case m.cut && r.silent && !r.buried:
		return map[bool]health{true: fails, false: belowFall}[r.counted() >= m.policy.Fall && m.onlyOne(r)]
	case m.awaits(r):
		return belowFall
	case r.counted() >= m.policy.Fall, !r.strangeSince.IsZero():
		return fails
	}
	return belowFall
}

// awaits reports whether another replica may still answer the only failure that counts.
func (m *model) awaits(r *record) bool {
	return r.counted() == 1 && r.failures[len(r.failures)-1].unconnected && r.serving() && m.now.Before(r.at.Add(m.policy.AnswerWait))
}

// answering reports whether another replica has answered lately.
func (m *model) answering() bool {
	for _, r := range m.records {
		if r.doubtful(m) && r.silent && !r.reachedAt.IsZero() && m.now.Sub(r.reachedAt) <= time.Duration(m.policy.Fall+1)*m.policy.Interval {
			return true
		}
	}
	return false
}

// doubtful reports whether the endpoint is one of those of which a replica may miss one.
func (r *record) doubtful(m *model) bool {
	lately := r.state == inventory.StateDown && r.silent && m.now.Sub(r.stateSince) <= time.Duration(m.policy.Fall)*m.policy.Interval
	return (r.serving() || lately) && !r.buried
}

// onlyOne reports whether the endpoint is the only one that no replica reaches: the others have been
// reached since it began to fail, here or elsewhere.
func (m *model) onlyOne(r *record) bool {
	others := 0
	for _, other := range m.records {
		if other == r || !other.doubtful(m) {
			continue
		}
		others++
		answered := other.at
		if other.silent {
			answered = other.reachedAt
		}
		if !answered.After(r.doubtSince) {
			return false
		}
	}
	return others > 0 && !r.missedAt.Before(r.doubtSince)
}

// doubt notes since when failures count. Where some of them were answered, those that count are taken
// to be as new as the newest.
func (r *record) doubt() {
	switch {
	case r.counted() == 0:
		r.doubtSince = time.Time{}
	case r.doubtSince.IsZero(), !r.reachedAt.Before(r.doubtSince):
		r.doubtSince = r.at
	}
}

// uncounted reports whether failures of the address prove nothing now.
func (m *model) uncounted(r *record) bool {
	return m.newborn() || m.cut && r.silent && !r.buried && (r.counted() == 0 || !m.answering())
}

// newborn reports whether nothing has passed since a restart: then no endpoint is
// demoted (contract 28).
func (m *model) newborn() bool { return m.restarted && !m.proven && m.policy.FailOpen }

// decide decides everything, and returns the mode.
func (m *model) decide() guard.Mode {
	m.bury()
	m.cut = m.cutOff()
	for _, r := range m.records {
		r.doubt()
	}
	next := make(map[netip.Addr]inventory.State)
	for a, r := range m.records {
		next[a] = m.cell(r)
	}
	m.publishDraining(next)
	m.failOpen(next)
	m.accept(next)
	mode := m.mode(next)
	for a, r := range m.records {
		m.commit(a, r, next[a])
	}
	m.counting = false
	return mode
}

// cell is the guard table.
func (m *model) cell(r *record) inventory.State {
	h := m.health(r)
	never := !r.known() && !m.policy.HealthOff
	stuck := r.state == inventory.StateDown && !m.back(r, h)
	newborn := m.newborn() && h == belowFall
	switch {
	case !r.member() && h == passes && r.place == staying:
		return inventory.StateReady
	case !r.member():
		return inventory.Absent

	case r.place == unread && r.leaves && h == fails && m.confirmed():
		return inventory.Absent
	case r.place == unread && r.leaves:
		return inventory.StateDraining

	case r.there() && (h == pending || newborn):
		return r.state
	case r.there() && (h == fails || stuck):
		return inventory.StateDown
	case r.there():
		return inventory.StateReady

	case r.place == gone && (r.proved || r.found) && !m.replaced() && (h == fails || stuck):
		return inventory.StateDown
	case r.place == gone && (r.proved || r.found) && !m.replaced():
		return inventory.StateDraining
	case r.place == gone && (h == fails || stuck || never || m.now.Sub(m.goneSince(r)) >= m.policy.DrainPeriod):
		return inventory.Absent
	case r.place == gone:
		return inventory.StateDraining

	case never, newborn:
		return r.state
	case h == fails, stuck:
		return inventory.StateDown
	case r.announced:
		return inventory.StateDraining
	}
	return inventory.StateReady
}

// goneSince is when the drain period of an endpoint that is gone begins: not before
// it stops being published ready.
func (m *model) goneSince(r *record) time.Time {
	if r.state == inventory.StateReady {
		return m.now
	}
	return r.goneAt
}

// rises reports whether an address has passed RISE times.
func (m *model) rises(r *record) bool {
	return m.policy.HealthOff || r.passes >= m.policy.Rise && !r.strange()
}

// replaced reports whether what left may go: a present one has passed RISE times.
func (m *model) replaced() bool {
	for _, r := range m.records {
		if r.there() && m.rises(r) {
			return true
		}
	}
	return m.policy.HealthOff
}

// risen reports whether an endpoint that stays has passed RISE times.
func (m *model) risen() bool {
	for _, r := range m.records {
		if (r.there() || r.place == kept && !r.announced) && m.rises(r) {
			return true
		}
	}
	return false
}

// back reports whether an endpoint that is down comes back: contract 10, 7 and 14.
func (m *model) back(r *record, h health) bool {
	recently := !r.silencedAt.IsZero() && m.now.Sub(r.silencedAt) <= time.Duration(m.policy.Fall)*m.policy.Interval
	return m.policy.HealthOff || m.cut && recently ||
		h == passes && (r.passes >= m.policy.Rise || !r.strangeSince.IsZero())
}

// accept is what rejected inventories take away after all.
func (m *model) accept(next map[netip.Addr]inventory.State) {
	m.accepted = map[netip.Addr]bool{}
	if !m.counting || m.policy.Threshold == 0 {
		return
	}
	keeps, fresh, works := 0, 0, false
	for a, r := range m.records {
		ready := next[a] == inventory.StateReady && m.health(r) == passes
		works = works || ready
		keeps += map[bool]int{true: 1}[r.place == kept]
		fresh += map[bool]int{true: 1}[ready && r.there() && r.fresh]
	}
	for a, r := range m.records {
		if r.place != kept {
			continue
		}
		if m.proven && !m.cut && !m.open {
			switch {
			case next[a] != inventory.StateDown:
				r.dead = 0
			case m.health(r) == fails:
				r.dead++
			}
		}
		switch {
		case r.old && (m.policy.HealthOff || fresh >= keeps && !m.open):
			m.accepted[a] = true
			m.depart(r)
			next[a] = m.cell(r)
		case m.proven && !m.cut && !m.open && works && r.dead >= m.policy.Threshold:
			m.accepted[a] = true
			next[a] = inventory.Absent
		}
	}
}

// mode is contract 16: what is shown.
func (m *model) mode(next map[netip.Addr]inventory.State) guard.Mode {
	if m.open || m.newborn() && (m.allFail() || m.waitedEnough() && m.someFailed()) && !m.policy.HealthOff {
		return guard.FailOpen
	}
	mode := guard.Publish
	for a, r := range m.records {
		spared := m.cut && !m.newborn() && r.member() && r.silent && !r.buried && r.fails >= m.policy.Fall
		if m.shown || r.member() && r.place == kept && next[a] != inventory.Absent || spared && next[a] == inventory.StateReady {
			mode = guard.Hold
		}
	}
	return mode
}

// commit makes the decision the previous one.
func (m *model) commit(a netip.Addr, r *record, next inventory.State) {
	h := m.health(r)
	if m.open || h == belowFall && m.uncounted(r) {
		r.forgive(true)
		r.doubtSince = time.Time{}
	}
	if next == inventory.Absent {
		if !r.listed {
			delete(m.records, a)
			return
		}
		if r.member() {
			*r = record{place: nowhere, holder: r.holder, listed: true, fresh: r.fresh, proved: r.proved, strangeSince: r.strangeSince, score: r.score}
		}
		r.forgive(false)
		return
	}
	if h == passes || h == fails && (next == inventory.StateDown || m.open) {
		r.strangeSince = time.Time{}
	}
	if h == passes || h == fails {
		r.rumour = false
	}
	switch {
	case next != inventory.StateDown:
		r.silencedAt = time.Time{}
	case r.serving() && r.fails > 0 && r.silent && !m.cut:
		r.silencedAt = m.now
	}
	if r.place == gone && next == inventory.StateDraining {
		r.goneAt = m.goneSince(r)
	}
	if r.state != next {
		r.stateSince = m.now
	}
	r.state = next
}
