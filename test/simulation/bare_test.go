//go:build simulation

package simulation_test

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// checkDry is contract 15: where nothing is ready, and something that drains
// passes, it is ready.
func (w *world) checkDry(p *process, is4 bool) {
	var drains netip.Addr
	for a, state := range w.truth() {
		switch {
		case a.Is4() != is4:
		case state == inventory.StateReady:
			delete(p.dryAt, is4)
			return
		case state == inventory.StateDraining && w.passedFor(a, recovery) && !p.moved(a) && drains.Less(a):
			drains = a
		}
	}
	if _, ok := p.dryAt[is4]; !ok {
		p.dryAt[is4] = time.Now()
	}
	const moment = 5 * time.Second
	if !drains.IsValid() || time.Since(p.dryAt[is4]) < moment || w.set.policy.HealthOff || !p.recovered || w.inStuck(drains, time.Minute) ||
		!w.smooth(recovery, "store", "probes", "daemon", "service", "slices", "pace") {
		return
	}
	w.breach(15, "%s passes and drains, and nothing has been ready for %s", drains, time.Since(p.dryAt[is4]))
}

// checkBare is contract 15: while an endpoint is present, something is published
// that may be sent to. What was served is never taken away by health alone; where
// nothing was, FALL checks of all are waited for.
func (w *world) checkBare(p *process, is4 bool) {
	if serving(w.truth(), is4) > 0 {
		p.bareAt[is4] = time.Time{} // it was served, and is
		return
	}
	if at, ok := p.bareAt[is4]; !ok {
		p.bareAt[is4] = p.begun
	} else if at.IsZero() {
		p.bareAt[is4] = time.Now()
	}
	policy := w.set.policy
	bound := 30*time.Second + time.Duration(policy.Fall+1)*(policy.Interval+w.set.healthTimeout)
	if time.Since(p.bareAt[is4]) < bound || !policy.FailOpen || policy.HealthOff || !p.recovered || p.ending() ||
		!w.smooth(bound, "store", "probes", "daemon", "service", "slices", "pace") || !w.allSmooth(bound) {
		return
	}
	for _, a := range sorted(p.staysSince) {
		b := w.backends[a]
		if a.Is4() != is4 || !p.listedFor(a, bound) {
			continue
		}
		if b == nil || b.is == troubles || b.is == flaps || time.Since(b.since) < bound {
			return
		}
	}
	for _, a := range sorted(p.staysSince) {
		if a.Is4() == is4 && p.listedFor(a, bound) {
			w.breach(15, "nothing is served for %s, though %s is present", time.Since(p.bareAt[is4]), a)
			return
		}
	}
}

// allSmooth reports whether every slice could be written for that long.
func (w *world) allSmooth(d time.Duration) bool {
	for part := range w.rough {
		if len(part) > 6 && part[:6] == "slice " && !w.smooth(d, part) {
			return false
		}
	}
	return true
}
