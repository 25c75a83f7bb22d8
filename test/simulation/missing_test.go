//go:build simulation

package simulation_test

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// absence is a run of inventories in a row that left an address out, or announced
// it to leave.
type absence struct {
	began time.Time
	// ended is when an inventory listed it again, zero while none has.
	ended time.Time
	// counts are the inventories that may have been scheduled: a poll interval apart,
	// less its jitter.
	counts []time.Time
	// served: it was ready or draining when an inventory last listed it.
	served bool
	// accepted: one of them may have been; certain: all were until it was gone.
	accepted, certain bool
	// announced: one announced it to leave; given: one gave it to another node;
	// replaced: after the threshold, so many others passed that it was a
	// replacement.
	announced, given, replaced bool
}

// noteMissing notes what a read leaves out. The read is the newest of p.reads.
func (p *process) noteMissing(d delivery) {
	published := p.w.truth()
	known := map[netip.Addr]bool{}
	for a := range published {
		known[a] = true
	}
	for a := range p.holders {
		known[a] = true
	}
	for a := range known {
		m := p.missing[a]
		if d.stays[a] {
			if m != nil && m.ended.IsZero() {
				m.ended = d.at
			}
			continue
		}
		if m == nil || !m.ended.IsZero() {
			m = &absence{began: d.at, served: published[a] != inventory.StateDown, certain: d.certain[a.Is4()]}
			p.missing[a] = m
		}
		m.add(d, a, p.w.set)
		if _, ok := published[a]; ok && !d.certain[a.Is4()] {
			m.certain = false // what an inventory that may be rejected meets while it drains is kept
		}
	}
}

// add adds one more inventory that leaves the address out. An endpoint that was kept
// for the threshold stays, also when later inventories are judged by what is listed
// (13 a).
func (m *absence) add(d delivery, a netip.Addr, s settings) {
	pastThreshold := s.policy.Threshold > 0 && len(m.counts) >= s.policy.Threshold+2
	if n := len(m.counts); n == 0 || d.at.Sub(m.counts[n-1]) >= s.poll*9/10-slack/10 {
		m.counts = append(m.counts, d.at)
	}
	rejected := d.suspect[a.Is4()]
	if pastThreshold {
		rejected = d.suspectAll[a.Is4()]
	}
	m.accepted = m.accepted || !rejected
	m.announced = m.announced || d.leaving[a]
	m.given = m.given || d.given[a]
	m.replaced = m.replaced || len(m.counts) >= s.policy.Threshold && d.replaced[a.Is4()]
}

// since counts the inventories that may count since a time.
func (m *absence) since(at time.Time) int {
	n := 0
	for _, c := range m.counts {
		if c.After(at.Add(-slack)) {
			n++
		}
	}
	return n
}

// missingOf returns the run of inventories that miss the address, or missed it when
// a write that is landing now was decided; nil if there is none.
func (p *process) missingOf(a netip.Addr) *absence {
	m := p.missing[a]
	if m == nil || m.ended.IsZero() {
		return m
	}
	// While nothing can be written, what was decided lands later.
	if over := time.Since(m.ended); over > weighed && p.w.smooth(over, "store", "slices", "service") {
		return nil
	}
	return m
}

// mayGo reports whether inventories may take the address away for good by contract
// 13: an accepted one, the threshold of rejected ones at each of which it was down,
// a replacement, or another node that has it now.
func (p *process) mayGo(a netip.Addr) bool {
	m, policy := p.missingOf(a), p.w.set.policy
	switch {
	case m == nil:
		return false
	case m.accepted, m.given, m.replaced, p.moved(a):
		return true
	case policy.HealthOff:
		return policy.Threshold > 0 && len(m.counts) >= policy.Threshold
	}
	return policy.Threshold > 0 && m.since(p.passAt[a]) >= policy.Threshold
}

// judge applies the plainest reading of contract 13 to a read. It says whether the
// read must be rejected, judged by all endpoints, and judged without those that were
// kept for long; and whether it must be accepted. An endpoint may fail between the
// read and the decision on it; then it no longer counts. An endpoint that a rejected
// inventory added may count or not.
func (p *process) judge(d *delivery, is4 bool, kind string) {
	w := p.w
	var all, failing, pastThreshold, both, firm tally
	stays, brought := 0, 0
	for a, state := range w.truth() {
		if a.Is4() != is4 || w.injected(a) {
			continue
		}
		taken, m := !d.stays[a], p.missing[a]
		if state == inventory.StateDown {
			if !taken && p.mayCountDown(a) {
				brought++
			}
			continue
		}
		if taken && m != nil && m.ended.IsZero() && !m.served {
			continue // it was down when an inventory last listed it
		}
		all.add(taken)
		b := w.backends[a]
		fails := !w.set.policy.HealthOff && (b == nil || b.is != passes || w.blind(a))
		long := m != nil && m.ended.IsZero() && len(m.counts) >= w.set.policy.Threshold-1
		if !fails {
			failing.add(taken)
		}
		if !long {
			pastThreshold.add(taken)
		}
		if !fails && !long {
			both.add(taken)
		}
		if p.established[a] || taken {
			firm.add(taken)
		}
	}
	for a := range p.holders {
		if _, ok := w.truth()[a]; !ok && a.Is4() == is4 && p.listedBefore(a) {
			brought++ // it may have become ready, and its write is on its way
		}
	}
	for _, t := range []*tally{&all, &failing, &pastThreshold, &both} {
		t.of += brought
	}
	for a, ok := range d.stays {
		if ok && a.Is4() == is4 {
			stays++
		}
	}
	calm := w.smooth(20*time.Second, "store", "slices", "service", "probes") && w.allSmooth(20*time.Second) && p.writing == 0 && time.Since(p.landedAt) > 5*time.Second
	percent, nothing := w.set.policy.MaxRemovalPercent, all.of > 0 && stays == 0
	d.suspectAll[is4] = nothing || calm && all.tooMany(percent) && failing.tooMany(percent)
	d.suspect[is4] = nothing || d.suspectAll[is4] && pastThreshold.tooMany(percent) && both.tooMany(percent)
	d.certain[is4] = calm && stays > 0 && kind != readsTwins && !firm.tooMany(percent) && !w.downMissing(d, is4)
}

// mayCountDown reports whether an endpoint that is down may count as if it served.
// Either inventories left it out until now, and it counts as it was before; or it was
// recovered as down, and no check of this process has counted yet (contract 13).
func (p *process) mayCountDown(a netip.Addr) bool {
	if m := p.missing[a]; m != nil && m.ended.IsZero() {
		return true
	}
	passed, fell := p.passAt[a], p.fellAt[a]
	checked := !passed.IsZero() && time.Since(passed) > slack || !fell.IsZero() && time.Since(fell) > slack && p.fresh[a] >= p.w.set.policy.Fall
	return p.found[a] == inventory.StateDown && !checked
}

// downMissing reports whether the read leaves an endpoint out that is down: it may
// count or not.
func (w *world) downMissing(d *delivery, is4 bool) bool {
	for a, state := range w.truth() {
		if a.Is4() == is4 && state == inventory.StateDown && !d.stays[a] {
			return true
		}
	}
	return false
}

// tally counts endpoints, and how many of them a read would take away.
type tally struct{ of, taken int }

func (t *tally) add(taken bool) {
	t.of++
	if taken {
		t.taken++
	}
}

// tooMany reports whether more would go than one and than the share allows.
func (t *tally) tooMany(percent int) bool { return t.taken*100 > max(100, percent*t.of) }

// noteReplaced notes whether the read lists at least as many new endpoints that pass
// as it leaves out endpoints that pass (13 b).
func (p *process) noteReplaced(d *delivery, is4 bool) {
	kept, fresh := 0, 0
	for a, state := range p.w.truth() {
		if a.Is4() == is4 && !d.stays[a] && state != inventory.StateDown && p.w.passedFor(a, time.Minute) {
			kept++
		}
	}
	for a, ok := range d.stays {
		if b := p.w.backends[a]; ok && a.Is4() == is4 && !p.established[a] && b != nil && b.is != refuses && b.is != silent {
			fresh++
		}
	}
	d.replaced[is4] = fresh > 0 && fresh >= kept
}

// noteEstablished notes which addresses are known from an inventory that took
// nothing away: a later, rejected one did not bring them.
func (p *process) noteEstablished(d delivery, is4 bool) {
	published, clean := p.w.truth(), true
	for a := range published {
		clean = clean && (a.Is4() != is4 || d.stays[a])
	}
	for a := range p.established {
		if a.Is4() == is4 && !d.stays[a] {
			delete(p.established, a)
		}
	}
	if !clean || !p.w.smooth(20*time.Second, "store", "slices", "service") {
		return
	}
	for a := range published {
		if a.Is4() == is4 {
			p.established[a] = true
		}
	}
}
