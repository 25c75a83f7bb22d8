//go:build simulation

package simulation_test

import (
	"context"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// background is the context of what the world itself does to the store.
func (w *world) background() context.Context { return context.Background() }

// mend ends what has its time, and starts the daemon again. The caller has the
// lock.
func (w *world) mend() error {
	if until := w.rough["service until"]; !until.IsZero() && !time.Now().Before(until) {
		w.rough["service until"] = time.Time{}
		w.setService(w.service)
	}
	if w.loading.kind != "" && !w.loading.in() {
		w.loading = fault{}
		w.tell()
	}
	if w.set.election {
		return w.mendReplicas()
	}
	if time.Now().Before(w.rough["daemon until"]) {
		return nil
	}
	var err error
	if w.daemon == nil {
		w.daemon, err = w.launch()
	}
	if w.second == nil && w.set.forced && err == nil {
		w.second, err = w.launch()
	}
	return err
}

// step checks what has to hold at any time. The caller has the lock.
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
	for _, s := range w.now().Slices {
		if _, edited := w.edited[s.Name]; edited {
			continue
		}
		for _, m := range s.Endpoints {
			if m.State == inventory.StateReady {
				w.checkDead(p, m.Address)
			}
		}
	}
}

// checkDead is contract 10 and 26: a backend that refuses, while another passes
// and nothing is wrong with prober, store or process, is out of ready after FALL
// checks, the write's turn, and a moment.
func (w *world) checkDead(p *process, a netip.Addr) {
	policy := w.set.policy
	fast := max(policy.Interval/10, 100*time.Millisecond)
	bound := policy.Interval + time.Duration(policy.Fall-1)*fast + syncer.WriteInterval + fast + 500*time.Millisecond
	b := w.backends[a]
	if b == nil || b.is != refuses || time.Since(b.since) <= bound {
		return
	}
	const recovery = 40 * time.Second
	if !w.smooth(recovery+bound, "store", "sight", "daemon", "service", "slices") || !p.recovered || !policy.FailOpen || policy.HealthOff {
		return
	}
	if w.othersPass(p, a, recovery+bound) {
		w.breach(10, "%s has refused for %s and is still ready", a, time.Since(b.since))
	}
}

// othersPass reports whether another member of the family is there and has
// passed all that time, and none was silent, so that nothing excuses a failure.
func (w *world) othersPass(p *process, a netip.Addr, d time.Duration) bool {
	passing := false
	for other, state := range w.truth() {
		if other.Is4() != a.Is4() || other == a {
			continue
		}
		b := w.backends[other]
		if b == nil || b.is != passes && b.is != refuses && b.is != slow {
			return false
		}
		if time.Since(b.since) < d && b.is != refuses {
			return false
		}
		passing = passing || b.is == passes && state == inventory.StateReady && p.listedFor(other, d) && !p.moved(other)
	}
	return passing
}

// checkCut is contract 14: once a cut-off prober is found out, who was fine
// before is not down.
func (w *world) checkCut(p *process) {
	policy := w.set.policy
	if !w.cutOffFor(time.Duration(policy.Fall)*policy.Interval+w.set.healthTimeout+2*slack) || p.begun.After(w.cutAt) {
		return
	}
	if !w.smooth(30*time.Second, "store", "slices", "service") {
		return
	}
	for a, state := range w.truth() {
		if state == inventory.StateDown && w.standing[a] && w.stays(a) && w.passedFor(a, time.Since(w.cutAt)+30*time.Second) && !p.moved(a) && !p.letGo(a) {
			w.breach(14, "%s is down, though the prober has been cut off for %s", a, time.Since(w.cutAt))
		}
	}
}

// checkBounds is contract 33: what is remembered is bounded by what there is.
func (w *world) checkBounds(p *process) {
	status := p.syncer.Status()
	if n := len(status.Cycles); n > syncer.MaxCycles {
		w.breach(33, "%d cycles are kept", n)
	}
	addresses := 2 * (len(w.nodes) + 40 + 7)
	if n := len(status.Health); n > addresses {
		w.breach(33, "%d streaks are kept", n)
	}
	if n := len(status.Findings); n > syncer.MaxGone+addresses {
		w.breach(33, "%d findings are kept", n)
	}
	if n, most := runtime.NumGoroutine(), 60+2*addresses; n > most {
		w.breach(33, "%d goroutines run, more than %d", n, most)
	}
	if !p.syncer.Alive() {
		w.breach(31, "the loop has not come round for %s", p.syncer.LoopAge())
	}
}

// checkBeside is contract 23 and 24: a slice of another name stays as it is, and
// none is deleted but by the foreign hand.
func (w *world) checkBeside() {
	if have := w.object(besideName); have != nil {
		want := w.beside()
		if !slices.Equal(have.Endpoints[0].Addresses, want.Endpoints[0].Addresses) || len(have.Endpoints) != 1 {
			w.breach(23, "slice %s was changed", besideName)
		}
	}
}
