//go:build simulation

package simulation_test

import (
	"context"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// background is the context of what the world itself does to the store.
func (w *world) background() context.Context { return context.Background() }

// mend ends what is over, and starts the daemon again. The caller has the
// lock.
func (w *world) mend() error {
	if until := w.rough["service until"]; !until.IsZero() && !time.Now().Before(until) {
		w.rough["service until"] = time.Time{}
		w.setService(w.service)
	}
	w.fray()
	if w.loading.kind != "" && !w.loading.in() {
		w.loading = fault{}
		w.tell()
	}
	if w.set.election {
		return w.mendReplicas()
	}
	w.mendPair()
	if time.Now().Before(w.rough["daemon until"]) {
		return nil
	}
	var err error
	switch {
	case w.daemon == nil:
		w.daemon, err = w.launch()
	case w.second == nil && w.set.forced: // at another look, see part
		w.second, err = w.launch()
	}
	return err
}

// step checks what must hold at any time. The caller has the lock.
func (w *world) step() {
	p := w.daemon
	if p == nil {
		return
	}
	if w.shown == nil {
		w.checkBeside()
	}
	w.checkCut(p)
	w.checkBounds(p)
	p.checkMode()
	p.checkUnchecked()
	p.checkRetry()
	p.noteDecided()
	p.checkLoss()
	w.checkSentences(p)
	w.checkLease(p)
	for _, is4 := range []bool{true, false} {
		w.checkDry(p, is4)
		w.checkBare(p, is4)
	}
	for _, s := range w.now().Slices {
		if _, edited := w.edited[s.Name]; edited {
			continue
		}
		for _, m := range s.Endpoints {
			switch m.State {
			case inventory.StateReady:
				w.checkDead(p, m.Address, s.Name)
			case inventory.StateDown:
				if w.truth()[m.Address] == inventory.StateDown {
					w.checkBack(p, m.Address, s.Name)
				}
			case inventory.Absent, inventory.StateDraining:
			}
		}
	}
}

// recovery is how long a store that failed may take until it is asked again.
const recovery = 40 * time.Second

// soon is how long a change of a backend may take until it is published, checks
// apart: a check that is under way, gathering, the write's token, the write.
func (w *world) soon(p *process, slice string) time.Duration {
	return w.fast() + 500*time.Millisecond + p.tokenWait(slice) + w.delay()
}

// fast is how often an address in question is checked.
func (w *world) fast() time.Duration { return max(w.set.policy.Interval/10, 100*time.Millisecond) }

// isPlain reports whether only backends and source have been wrong for a while, with
// regard to the slice.
func (w *world) isPlain(p *process, d time.Duration, slice string) bool {
	return w.smooth(recovery+d, "store", "probes", "daemon", "service", "slices", "slice "+slice) &&
		p.recovered && w.set.policy.FailOpen && !w.set.policy.HealthOff
}

// checkDead is contract 10 and 26. A backend refuses or is silent, while another
// passes and nothing is wrong with prober, store or process. Then it is out of ready
// after FALL checks, the write's turn, and a moment. The inventory and other slices
// do not matter.
func (w *world) checkDead(p *process, a netip.Addr, slice string) {
	policy, b := w.set.policy, w.backends[a]
	if b == nil || b.is != refuses && b.is != silent {
		return
	}
	bound := policy.Interval + time.Duration(policy.Fall-1)*w.fast() + w.soon(p, slice)
	// The check that a lost connection brings is at once. What refused while all failed open is
	// checked FALL times anew afterwards, and the first of those may be an interval away.
	if p.sawCrash(a) && p.excusedAt[a].Sub(b.since) <= 2*tick { // the first look at it excuses it, too
		bound -= policy.Interval
		w.counts["crashes that a held connection told"]++
	}
	isSilent := b.is == silent || w.blind(a)
	if isSilent {
		bound += time.Duration(policy.Fall) * w.set.healthTimeout
	}
	last := p.lookedAt[a]
	p.lookedAt[a] = time.Now()
	counts := w.othersPass(p, a, recovery+bound) && (!isSilent || w.fewSilent(p, a, recovery+bound))
	if time.Since(last) > 8*tick || !w.isPlain(p, 0, slice) || !counts && !w.countsElsewhere(a, bound+10*time.Second) {
		p.excusedAt[a] = time.Now()
		return
	}
	rises := time.Duration(policy.Rise) * w.fast() // before that, all may be failing open
	if time.Since(b.since) > bound && time.Since(p.excusedAt[a]) > bound+rises && w.isPlain(p, bound, slice) {
		w.breach(10, "%s %s for %s and is still ready: %s", a, b.is, time.Since(b.since), p.why(a))
	}
}

// othersPass reports whether another endpoint of the family is there and has passed
// all that time. Then nothing excuses a refusal.
func (w *world) othersPass(p *process, a netip.Addr, d time.Duration) bool {
	return w.passing(p, a, d) > 0
}

// passing counts the other endpoints of the family that are ready and have passed all
// that time, listed or kept.
func (w *world) passing(p *process, a netip.Addr, d time.Duration) int {
	n := 0
	for other, state := range w.truth() {
		if other.Is4() == a.Is4() && other != a && state == inventory.StateReady && w.passedFor(other, d) && !p.moved(other) {
			n++
		}
	}
	return n
}

// fewSilent reports whether so many pass that contract 14 excuses no silence. It
// counts all endpoints, and the listed ones alone if one of those passes.
func (w *world) fewSilent(p *process, a netip.Addr, d time.Duration) bool {
	truth := w.truth()
	var all, listed tally
	lost := func(other netip.Addr) bool {
		return !w.passedFor(other, d) || truth[other] != inventory.StateReady || p.moved(other)
	}
	for other := range truth {
		if _, stays := p.staysSince[other]; !stays && other != a && other.Is4() == a.Is4() && !p.longSilent(other) {
			all.add(lost(other))
		}
	}
	for other := range p.staysSince {
		if other != a && other.Is4() == a.Is4() && !p.longSilent(other) {
			is := lost(other)
			all.add(is)
			listed.add(is)
		}
	}
	all.add(true)
	listed.add(true)
	few := func(t tally) bool {
		passing := t.of - t.taken
		return t.taken*100 <= min(passing*100, w.set.policy.MaxSilentPercent*(passing+1))
	}
	return few(all) && (listed.of == listed.taken || few(listed))
}

// longSilent reports whether the address is down and has been silent for so long that
// it no longer counts (contract 14).
func (p *process) longSilent(a netip.Addr) bool {
	long := max(time.Duration(p.w.set.policy.Fall)*p.w.set.policy.Interval, 5*time.Minute)
	at, ok := p.silentSince[a]
	return ok && time.Since(at) > long+recovery && p.w.truth()[a] == inventory.StateDown
}

// checkBack is contract 10 the other way: an endpoint that passes, listed or kept, is
// not down after RISE checks, the write's turn, and a moment.
func (w *world) checkBack(p *process, a netip.Addr, slice string) {
	policy := w.set.policy
	bound := policy.Interval + time.Duration(policy.Rise-1)*w.fast() + w.soon(p, slice)
	if w.passedFor(a, bound) && w.isPlain(p, bound, slice) && !p.moved(a) {
		w.breach(10, "%s passes for %s and is still down", a, time.Since(w.backends[a].since))
	}
}

// checkCut is contract 14: once a cut-off prober is found out, an endpoint that was
// fine before is not down.
func (w *world) checkCut(p *process) {
	policy := w.set.policy
	if !w.cutOffFor(time.Duration(policy.Fall)*policy.Interval+w.set.healthTimeout+2*slack) || p.begun.After(w.cutAt) || w.pair != nil {
		return
	}
	if !w.smooth(30*time.Second, "store", "slices", "service") {
		return
	}
	for _, s := range w.now().Slices {
		if w.smooth(30*time.Second, "slice "+s.Name) {
			w.checkCutIn(p, s)
		}
	}
}

// checkCutIn is contract 14 for one slice.
func (w *world) checkCutIn(p *process, s publish.Slice) {
	for _, m := range s.Endpoints {
		a, state := m.Address, m.State
		if state == inventory.StateDown && w.truth()[a] == state && w.standing[a] && w.stays(a) && w.passedFor(a, time.Since(w.cutAt)+30*time.Second) && !p.moved(a) && !p.letGo(a, s.Name) {
			w.breach(14, "%s is down, though the prober has been cut off for %s", a, time.Since(w.cutAt))
		}
	}
}

// checkBounds is contract 33: what is remembered is bounded by what there is.
func (w *world) checkBounds(p *process) {
	status := p.syncer.Status()
	for _, g := range p.syncer.Server().Snapshot().Groups {
		if g.State != nil && len(g.State.Reads) > explain.MaxCycles {
			w.breach(33, "%d cycles are kept", len(g.State.Reads))
		}
	}
	addresses := 2 * (len(w.nodes) + 40 + 7 + min(w.flooded, 100))
	if n := status.Health.Len(); n > addresses {
		w.breach(33, "%d streaks are kept", n)
	}
	if n := len(status.Findings); n > explain.MaxGone+addresses {
		w.breach(33, "%d findings are kept", n)
	}
	most := 60 + 2*addresses
	if w.second != nil {
		most *= 2 // two processes run
	}
	if n := runtime.NumGoroutine(); n > most {
		w.breach(33, "%d goroutines run, more than %d", n, most)
	}
	if !p.syncer.Alive() {
		w.breach(31, "the loop has not come round for %s", p.syncer.LoopAge())
	}
}

// checkBeside is contract 23 and 24: a slice of another name stays as it is, and only
// other clients delete one.
func (w *world) checkBeside() {
	if have := w.object(besideName); have != nil {
		want := w.beside()
		if !slices.Equal(have.Endpoints[0].Addresses, want.Endpoints[0].Addresses) || len(have.Endpoints) != 1 {
			w.breach(23, "slice %s was changed", besideName)
		}
	}
}
