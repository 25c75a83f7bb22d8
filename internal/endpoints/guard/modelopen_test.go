package guard_test

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// here reports whether the address may be failed open: it is there, or a rejected
// inventory leaves it out.
func (r *record) here() bool { return r.there() || r.place == kept }

// works reports whether something ready works, as far as is known: it passes, has
// failed a few times only, or was not checked. While failing open, only a pass
// says so.
func (m *model) works(next map[netip.Addr]inventory.State) bool {
	for a, r := range m.records {
		h := m.health(r)
		few := h == pending || h == belowFall && !m.uncounted(r) && r.counted() > 0
		if next[a] == inventory.StateReady && (h == passes || few && !m.stillOpen()) {
			return true
		}
	}
	return false
}

// stillOpen reports whether failing open goes on: nothing has risen.
func (m *model) stillOpen() bool {
	here, risen := false, false
	for _, r := range m.records {
		here = here || r.here()
		risen = risen || r.here() && r.passes >= m.policy.Rise
	}
	return m.open && here && !risen
}

// publishDraining is the last sentence of contract 15: where nothing that works is
// ready, draining endpoints are published ready if they pass, or if only a rejected
// inventory announces that they leave.
func (m *model) publishDraining(next map[netip.Addr]inventory.State) {
	works := m.works(next)
	switch {
	case works || len(m.records) == 0:
		m.emptySince = time.Time{}
	case m.emptySince.IsZero():
		m.emptySince = m.now
	}
	passing := false
	for a, r := range m.records {
		passing = passing || next[a] == inventory.StateDraining && m.health(r) == passes
	}
	wanted := (!works || m.wasReadyDraining && !m.risen()) && (passing || !m.stillOpen())
	shown := m.shown || !m.confirmed() && (m.allFail() || m.waitedEnough())
	m.wasReadyDraining, m.shown = false, false
	for a, r := range m.records {
		tried := r.known() && !(m.newborn() && m.health(r) == belowFall) || m.policy.HealthOff
		may := m.mayBeReadyDraining(r)
		if r.place == kept {
			may = tried
		}
		if wanted && next[a] == inventory.StateDraining && may {
			next[a] = inventory.StateReady
			m.wasReadyDraining, m.shown = true, shown
		}
	}
}

// mayBeReadyDraining reports whether a leaving one passes, or was ready and is not known to be
// dead.
func (m *model) mayBeReadyDraining(r *record) bool {
	return !m.policy.HealthOff && (m.health(r) == passes || m.undecided(r) && r.state == inventory.StateReady)
}

// undecided reports whether some failures count, but too few, or whether all are
// put down to the prober.
func (m *model) undecided(r *record) bool {
	if m.health(r) != belowFall || m.newborn() {
		return false
	}
	_, reached := r.unconnected()
	return m.uncounted(r) || r.counted() > 0 || r.silent && reached > 0
}

// waitedEnough reports whether nothing has worked for FALL intervals.
func (m *model) waitedEnough() bool {
	return !m.emptySince.IsZero() && m.now.Sub(m.emptySince) >= time.Duration(m.policy.Fall)*m.policy.Interval
}

// allFail reports whether all present endpoints failed FALL times, for any cause; our
// own troubles alone prove nothing.
func (m *model) allFail() bool {
	failed := 0
	for _, r := range m.records {
		switch {
		case !r.here(), !r.known() && r.troubled:
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
	here, serves, served := 0, false, false
	for a, r := range m.records {
		here += map[bool]int{true: 1}[r.here()]
		drains := next[a] == inventory.StateDraining && (m.health(r) == passes || m.undecided(r))
		serves = serves || next[a] == inventory.StateReady || drains
		served = served || r.serving()
	}
	on := m.stillOpen() && !m.wasReadyDraining
	if !on && here > 0 && !serves {
		on = m.known(served) && !(served && m.newborn())
		if !on && m.policy.FailOpen {
			m.leaveAsItWas(next)
		}
	}
	m.open = on && m.policy.FailOpen
	for a, r := range m.records {
		switch {
		case on && r.here() && m.policy.FailOpen:
			next[a] = inventory.StateReady
		case on && r.here():
			next[a] = inventory.StateDown
		}
	}
}

// leaveAsItWas lets what served serve until more is known.
func (m *model) leaveAsItWas(next map[netip.Addr]inventory.State) {
	for a, r := range m.records {
		if r.serving() {
			next[a] = r.state
		}
	}
}

// known reports whether enough is known to fail open: a first check of each that
// is here, or FALL failures of each where nothing served; FALL intervals are
// enough for the first, and with FALL failures of one for the second.
func (m *model) known(served bool) bool {
	if m.allFail() {
		return true
	}
	unchecked := 0
	for _, r := range m.records {
		if !r.here() {
			continue
		}
		unchecked += map[bool]int{true: 1}[m.health(r) == pending && !r.troubled]
	}
	if served {
		return unchecked == 0 || m.waitedEnough()
	}
	return m.someFailed() && m.waitedEnough()
}

// someFailed reports whether one that is here failed FALL times.
func (m *model) someFailed() bool {
	for _, r := range m.records {
		if r.here() && r.fails >= m.policy.Fall {
			return true
		}
	}
	return false
}

// cutOff is the first sentence of contract 14. Kept endpoints count if they answer
// again after a silence, or if no listed one passes. In the second case endpoints
// that leave and were checked count too. Endpoints that were down and silent for long
// never count.
func (m *model) cutOff() bool {
	n, silent := 0, 0
	for _, r := range m.records {
		enters := r.place == staying && r.passes > 0 && !r.strange()
		lossy := r.place == kept && !r.silent && r.unheard(m.now, m.policy)
		if !r.member() && !enters || r.buried || !r.there() && !lossy && (m.confirmed() || r.place != kept && !r.known()) {
			continue
		}
		n++
		if r.unheard(m.now, m.policy) {
			silent++
		}
	}
	limit := min(float64(n-1), float64(n)*float64(m.policy.MaxSilentPercent)/100)
	return silent > 0 && float64(silent) > limit && !m.policy.HealthOff
}

// unheard reports whether a check got no answer within the last FALL intervals.
func (r *record) unheard(now time.Time, policy guard.Policy) bool {
	lately := !r.heardNothing.IsZero() && now.Sub(r.heardNothing) < time.Duration(policy.Fall)*policy.Interval
	return r.silent || lately
}

// bury is the last sentence of contract 14.
func (m *model) bury() {
	checks := time.Duration(m.policy.Fall) * m.policy.Interval
	for _, r := range m.records {
		down := r.state == inventory.StateDown && m.now.Sub(r.stateSince) > checks
		r.buried = r.silent && (r.buried || down && r.at.Sub(r.silentSince) > max(5*time.Minute, checks))
	}
}

// confirmed reports whether a listed one that is there passes.
func (m *model) confirmed() bool {
	for _, r := range m.records {
		if r.there() && (m.policy.HealthOff || r.passes > 0 && !r.strange()) {
			return true
		}
	}
	return false
}
