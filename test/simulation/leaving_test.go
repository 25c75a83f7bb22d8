//go:build simulation

package simulation_test

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// checkLeaving checks that a member that goes was missing from reads that may
// take it.
func (p *process) checkLeaving(a netip.Addr, from, to inventory.State, fell bool) {
	w := p.w
	if len(p.reads) == 0 {
		if from == inventory.StateReady || !fell {
			w.breach(28, "%s went from %s to %s before the first read after a restart", a, from, to)
		}
		return
	}
	if !p.wasMissing(a) && (from == inventory.StateReady || !fell) {
		w.breach(1, "%s went from %s to %s, and no read missed it", a, from, to)
	}
	if !w.passedFor(a, time.Minute) || !w.smooth(time.Minute, "store", "sight", "slices") {
		return
	}
	missed, believed, announced := p.trailing(a)
	if to == inventory.StateDraining && announced {
		return // ADR 12
	}
	if !believed && missed < w.set.policy.Threshold {
		w.breach(13, "%s passes and went from %s to %s after %d suspect reads of EMPTY_RESULT_THRESHOLD=%d", a, from, to, missed, w.set.policy.Threshold)
	}
	if from == inventory.StateReady && to == inventory.Absent && w.set.policy.DrainPeriod > slack && w.smooth(2*time.Minute, "store", "service", "daemon") {
		w.breach(13, "%s passes and was removed without draining", a)
	}
}

// wasMissing reports whether a read may have taken the address away since it
// was last published ready.
func (p *process) wasMissing(a netip.Addr) bool {
	for i := len(p.reads) - 1; i >= 0; i-- {
		if !p.reads[i].stays[a] {
			return true
		}
		if time.Since(p.reads[i].at) > 8*time.Second {
			break
		}
	}
	for i := len(p.reads) - 1; i >= 0; i-- {
		if !p.reads[i].at.After(p.readyAt[a]) {
			if !p.reads[i].stays[a] {
				return true // it was held
			}
			break
		}
	}
	missed, ok := p.missedAt[a]
	return ok && missed.After(p.readyAt[a].Add(-slack))
}

// trailing returns how many reads in a row missed the address, and whether one
// of them could be believed or announced it to leave. A read that came while the write was under way is
// not counted against it.
func (p *process) trailing(a netip.Addr) (missed int, believed, announced bool) {
	for i := len(p.reads) - 1; i >= 0; i-- {
		d := p.reads[i]
		if d.stays[a] {
			if missed == 0 && time.Since(d.at) < 8*time.Second {
				continue
			}
			break
		}
		missed++
		believed = believed || !d.suspect[a.Is4()]
		announced = announced || d.leaving[a]
	}
	return missed, believed, announced
}

// noteTaken notes which published addresses the newest read takes away for good:
// it may be believed, or misses them for the last time that it takes.
func (p *process) noteTaken(at time.Time) {
	for a := range p.w.truth() {
		missed, believed, _ := p.trailing(a)
		if !p.reads[len(p.reads)-1].stays[a] && (believed || missed >= p.w.set.policy.Threshold) {
			p.takenAt[a] = at
		}
	}
}

// letGo reports whether the process had to let the address go, and the store kept
// that write away. To the process it is gone, and comes back as one that was never
// published and has to pass first (ADR 2): it cannot know of the health checks of
// before that they still hold, and what stands in the store is only what it could
// not write. Where the store takes writes, the removal lands, and is judged then.
func (p *process) letGo(a netip.Addr) bool {
	const again = 40 * time.Second // until a store that failed is asked again
	at, ok := p.takenAt[a]
	return ok && at.After(p.readyAt[a]) && !p.w.smooth(time.Since(at)+again, "store", "service", "slices")
}

// hasFallen reports whether the address failed often enough since it was last
// published ready. One that a suspect read misses may be so all the same while
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

// moved reports whether another node took the address over of late.
func (p *process) moved(a netip.Addr) bool {
	at, ok := p.movedAt[a]
	return ok && at.After(p.readyAt[a].Add(-time.Minute))
}

// passedFor reports whether the backend has passed every check for that long.
func (w *world) passedFor(a netip.Addr, d time.Duration) bool {
	if w.set.policy.HealthOff {
		return true // as far as anybody can know
	}
	b, ok := w.backends[a]
	return ok && b.is == passes && time.Since(b.since) >= d
}
