//go:build simulation

package simulation_test

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// weighed is how long after a read all that was decided without it has landed.
const weighed = 8 * time.Second

// checkLeaving checks that an endpoint that goes was missing from inventories that
// may take it.
func (p *process) checkLeaving(a netip.Addr, slice string, from, to inventory.State, fell bool) {
	w := p.w
	if to == inventory.StateDraining && p.found[a] == to && !p.wasMissing(a) {
		return // it was ready in place of others, until one that stays rose (contract 15)
	}
	if len(p.reads) == 0 {
		if from == inventory.StateReady || !fell {
			w.breach(28, "%s went from %s to %s before the first read after a restart", a, from, to)
		}
		return
	}
	if fell && from == inventory.StateDraining && p.found[a] == from && time.Since(p.firstRead) < weighed {
		return // as above: that read was not decided on yet
	}
	if !p.wasMissing(a) && (from == inventory.StateReady || !fell) {
		w.breach(1, "%s went from %s to %s, and no read missed it", a, from, to)
	}
	if !w.smooth(time.Minute, "store", "slices", "slice "+slice) {
		return
	}
	m := p.missingOf(a)
	if announced := m != nil && m.announced; !p.mayGo(a) && (to != inventory.StateDraining || !announced) {
		w.breach(13, "%s went from %s to %s by rejected inventories: %s", a, from, to, p.excuses(a))
	}
	if to == inventory.Absent && w.passedFor(a, time.Minute) && w.smooth(2*time.Minute, "store", "service", "daemon", "probes", "pace", "slice "+slice) && !w.set.forced {
		p.checkDrained(a, from)
	}
}

// excuses says what is known of an endpoint that is missing from inventories.
func (p *process) excuses(a netip.Addr) string {
	m := p.missingOf(a)
	if m == nil {
		return "none misses it"
	}
	return time.Since(m.began).String() + " ago the first missed it, the last pass was " + time.Since(p.passAt[a]).String() + " ago"
}

// checkDrained checks the removal of an endpoint that passes: it drained for the
// required time, and something present works in its place.
func (p *process) checkDrained(a netip.Addr, from inventory.State) {
	w := p.w
	period := w.set.policy.DrainPeriod
	if from == inventory.StateReady && period > slack {
		w.breach(13, "%s passes and was removed without draining", a)
	}
	if at, ok := p.drainsAt[a]; ok && from == inventory.StateDraining && time.Since(at) < period-slack {
		w.breach(13, "%s passes and drained for %s only", a, time.Since(at))
	}
	if w.set.policy.HealthOff || p.moved(a) {
		return
	}
	const lately = 30 * time.Second
	for other, at := range p.passAt {
		_, troubled := p.troubleSince[other] // such results count for nothing (contract 9)
		if other.Is4() == a.Is4() && other != a && (troubled && p.fails[other] == 0 || time.Since(at) < lately) && p.listedBefore(other) {
			return
		}
	}
	w.breach(13, "%s passes and was removed while nothing present passes", a)
}

// checkDropped checks that an endpoint that is down goes by inventories that may
// take it, and never the last one by rejected ones.
func (p *process) checkDropped(a netip.Addr, slice string) {
	w := p.w
	if !w.smooth(time.Minute, "store", "slices", "slice "+slice) || w.injected(a) {
		return
	}
	if len(p.reads) == 0 {
		w.breach(28, "%s was down and is gone before the first read after a restart", a)
		return
	}
	if !p.wasMissing(a) && !p.mayGo(a) {
		w.breach(1, "%s was down and is gone, and no read missed it", a)
	} else if !p.mayGo(a) {
		w.breach(13, "%s was down and is gone by rejected inventories: %s", a, p.excuses(a))
	}
}

// checkLast is contract 13: rejected inventories do not take the last endpoints.
func (p *process) checkLast(was, is map[netip.Addr]inventory.State, slice string, family publish.Family) {
	w := p.w
	if w.set.policy.HealthOff || !w.smooth(time.Minute, "store", "slices", "slice "+slice) {
		return
	}
	for a := range is {
		if publish.FamilyOf(a) == family {
			return
		}
	}
	for a := range was {
		if publish.FamilyOf(a) != family {
			continue
		}
		if m := p.missingOf(a); w.injected(a) || m == nil || m.accepted || m.given || m.replaced || p.moved(a) {
			return
		}
	}
	for _, a := range sorted(was) {
		if publish.FamilyOf(a) == family {
			w.breach(13, "%s was the last endpoint, and rejected inventories took it", a)
			return
		}
	}
}

// wasMissing reports whether a read may have taken the address away since it
// was last published ready.
func (p *process) wasMissing(a netip.Addr) bool {
	for i := len(p.reads) - 1; i >= 0; i-- {
		if !p.reads[i].stays[a] {
			return true
		}
		if time.Since(p.reads[i].at) > weighed {
			break
		}
	}
	for i := len(p.reads) - 1; i >= 0; i-- {
		if !p.reads[i].at.After(p.readyAt[a]) {
			if !p.reads[i].stays[a] {
				return true // it was kept
			}
			break
		}
	}
	missed, ok := p.missedAt[a]
	return ok && missed.After(p.readyAt[a].Add(-slack))
}

// noteTaken notes which published addresses the newest read takes away for good:
// it may be accepted, or misses them for the last time that it takes.
func (p *process) noteTaken(at time.Time) {
	for a := range p.w.truth() {
		if !p.reads[len(p.reads)-1].stays[a] && p.mayGo(a) {
			p.takenAt[a] = at
		}
	}
}

// letGo reports whether the process had to remove the address, but the store refused
// that write. For the process the address is gone. It comes back as a new address,
// which must pass first (ADR 2): the process cannot know that earlier health checks
// still hold, and the store holds only what the process could not write. If the store
// takes writes, the removal lands, and is judged then.
func (p *process) letGo(a netip.Addr, slice string) bool {
	const again = 40 * time.Second // until a store that failed is asked again
	at, ok := p.takenAt[a]
	return ok && at.After(p.readyAt[a]) && !p.w.smooth(time.Since(at)+again, "store", "service", "slices", "slice "+slice)
}

// hasFallen reports whether the address failed often enough since it was last
// published ready. One that a rejected inventory misses may be so all the same while
// nothing else works; what failed while failing open does not count (ADR 6).
func (p *process) hasFallen(a netip.Addr) bool {
	if fell, ok := p.fellAt[a]; ok && fell.After(p.readyAt[a].Add(-slack)) {
		return true
	}
	return p.fresh[a] >= p.w.set.policy.Fall
}

// openOfLate reports whether the process fails open, or did a short while ago.
func (p *process) openOfLate() bool {
	return p.told[byNotice] == guard.FailOpen || time.Since(p.openAt) < time.Minute
}

// moved reports whether another node took the address over of late, or whether the
// address has not passed since: it is a new endpoint until then (contract 7), also
// while none of its checks counts.
func (p *process) moved(a netip.Addr) bool {
	at, ok := p.movedAt[a]
	return ok && (at.After(p.readyAt[a].Add(-time.Minute)) || at.After(p.sentAtPass[a]))
}

// passedFor reports whether the backend has passed every check for that long.
func (w *world) passedFor(a netip.Addr, d time.Duration) bool {
	if w.set.policy.HealthOff {
		return true // without checks every backend counts as passing
	}
	b, ok := w.backends[a]
	return ok && b.is == passes && time.Since(b.since) >= d && !w.blind(a) && (w.pair == nil || time.Since(w.pair.leader.since) >= d)
}
