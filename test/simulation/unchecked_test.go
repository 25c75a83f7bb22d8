//go:build simulation

package simulation_test

import (
	"net/netip"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// noteTrouble notes since when the checks of an address gave only local errors, in the
// order in which the checks were sent.
func (p *process) noteTrouble(a netip.Addr, outcome inventory.Outcome, sent time.Time) {
	if outcome != inventory.LocalError {
		if !sent.Before(p.troubleSince[a]) {
			delete(p.troubleSince, a)
		}
	} else if _, ok := p.troubleSince[a]; !ok {
		p.troubleSince[a] = sent
	}
}

// forgetTroubles forgets local errors and silence where the checks may begin again: the
// address is not listed, or it has gone to another node.
func (p *process) forgetTroubles(d delivery) {
	for a := range p.troubleSince {
		if !d.listed[a] || d.given[a] {
			p.troubleSince[a] = time.Time{}
		}
	}
	for a := range p.silentSince {
		if !d.listed[a] || d.given[a] {
			p.silentSince[a] = d.at
		}
	}
}

// checkUnchecked is contract 9: if the checks of an endpoint gave only local errors
// for longer than FALL intervals, it says since when and why, and is counted.
func (p *process) checkUnchecked() {
	policy := p.w.set.policy
	late := time.Duration(policy.Fall)*policy.Interval + p.w.set.healthTimeout + slack // a check takes its time
	if policy.HealthOff || !p.recovered || p.ending() {
		return // one that ends cancels its checks
	}
	verdict := p.syncer.Status().Verdict
	unchecked := 0
	for _, d := range verdict.Decisions {
		since, ok := p.troubleSince[d.Address]
		if inventory.StateOf(verdict.Members, d.Address) == inventory.Absent || !ok || since.IsZero() || time.Since(since) <= late {
			continue
		}
		unchecked++
		if said := saidSince(d.Message); said.Sub(since).Abs() > late || !strings.Contains(d.Message, inventory.LocalError.String()) {
			p.w.breach(9, "%s could not be checked for %s, and its message is %q", d.Address, time.Since(since), d.Message)
		}
	}
	if len(p.troubleSince) > 0 {
		p.troubledAt = time.Now()
	}
	if verdict.Unchecked < unchecked || time.Since(p.troubledAt) > slack && verdict.Unchecked > 0 {
		p.w.breach(9, "%d endpoints are counted as unchecked, and %d are at least", verdict.Unchecked, unchecked)
	}
}

// saidSince is since when a message says that an endpoint is not checked, in seconds. A
// result that came late may or may not have been in time to be put before that.
func saidSince(message string) time.Time {
	_, rest, _ := strings.Cut(message, "not checked since ")
	text, _, _ := strings.Cut(rest, ",")
	at, _ := time.Parse(time.DateTime+" UTC", text)
	return at
}

// noteAccepted notes which endpoints an Event named that rejected inventories take
// away. Of more than it names, all are taken to be named.
func (p *process) noteAccepted(note string) {
	for part := range strings.SplitSeq(note, "; ") { // one for each family
		_, all, _ := strings.Cut(part, "removing ")
		names, more, _ := strings.Cut(all, " and ")
		for name := range strings.SplitSeq(names, ", ") {
			if a, err := netip.ParseAddr(name); err != nil {
				p.w.breach(13, "RemovalAccepted names %q in %q", name, note)
			} else {
				p.toldGone[a] = time.Now()
			}
		}
		if more != "" {
			p.toldMany = time.Now()
		}
	}
}

// checkTold is contract 13: an Event names what only rejected inventories took away.
func (p *process) checkTold(a netip.Addr, slice string) {
	m := p.missingOf(a)
	if m == nil || m.accepted || m.given || p.moved(a) || p.w.injected(a) || time.Since(p.firstRead) < weighed {
		return
	}
	if !p.w.smooth(time.Minute, "store", "slices", "service", "slice "+slice) {
		return
	}
	p.w.counts["accepted removals"]++
	if told, ok := p.toldGone[a]; (!ok || told.Before(m.began)) && p.toldMany.Before(m.began) {
		p.w.breach(13, "rejected inventories took %s away, and no Event RemovalAccepted named it", a)
	}
}
