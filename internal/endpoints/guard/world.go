package guard

import (
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// longSilence is how long an endpoint must be silent at least before it proves
// nothing any more about the prober.
const longSilence = 5 * time.Minute

// world is what one decision presumes about the family as a whole.
type world struct {
	policy  Policy
	now     time.Time
	placing placementMemory
	// confirmed: some present address passes, so that prober and inventory both
	// see something real.
	confirmed bool
	// replaced: a present address has passed Rise times in a row, so that what
	// leaves may go.
	replaced bool
	// wasReadyDraining: draining members were published ready, and nothing has risen yet.
	wasReadyDraining bool
	// cutOff: so many are silent that it is the prober's fault (contract 14).
	cutOff bool
	// silence is what to say of it, and silenceOver when one of the silent ones
	// counts no more if it stays silent no longer; zero while none does.
	silence     string
	silenceOver time.Time
	// answered says what other replicas reach of the silent ones.
	answered answers
	// mayDemote: failures may take members away. After a restart none counts
	// before a probe has passed (contract 28).
	mayDemote bool
	// nonePassed: mayDemote is false and every address that stays fails.
	nonePassed bool
	// readyDraining: draining members that pass are published ready, and
	// drainingShown: that lasts and is shown as a mode (contract 15).
	readyDraining, drainingShown bool
	// nothingSince is since when nothing that works is ready; zero if something
	// is. waits: until a first check of every present address it stays so.
	nothingSince time.Time
	waits        bool
	// accepts: failures of what rejected inventories leave out count.
	accepts bool
	// open: it was failing open, and nothing has passed often enough to end it.
	open bool
	// failOpen: every address that stays is published (contract 15).
	failOpen bool
}

// newWorld sums up the rows of one family.
func newWorld(p pool, rows []row, now time.Time, policy Policy) *world {
	w := &world{policy: policy, now: now, placing: p.placing, mayDemote: p.proven || !p.recovered || !policy.FailOpen}
	risen := false // one that is to stay, present or kept
	for i := range rows {
		r := &rows[i]
		r.longSilent = r.silent() && (r.was.longSilent || r.longDown(now, policy) && r.silentFor() > max(policy.checks(), longSilence))
		passes := r.passes(policy)
		rises := passes && (policy.HealthOff || r.streak.Passes >= policy.Rise)
		w.confirmed = w.confirmed || passes && r.present()
		w.replaced = w.replaced || rises && r.present()
		risen = risen || rises && r.stays() && !r.was.announced
	}
	w.replaced = w.replaced || policy.HealthOff
	w.open = p.failOpen && !recovering(rows, policy)
	w.wasReadyDraining = p.readyDraining && !risen
	w.countSilent(rows)
	w.answered = answeredOf(rows, w)
	for i := range rows {
		rows[i].condition = rows[i].assess(w)
	}
	return w
}

// longDown reports whether the address has been down for Fall intervals, in which
// one that went down together with too many others would have come back.
func (r *row) longDown(now time.Time, policy Policy) bool {
	return r.was.State == inventory.StateDown && now.Sub(r.was.since) > policy.checks()
}

// silentFor returns for how long this process has seen the address silent. What
// counts is what was measured: time without a check proves nothing.
func (r *row) silentFor() time.Duration { return r.streak.Last.At.Sub(r.streak.SilentSince) }

// countsForSilence reports whether the address is among the N of contract 14.
func (r *row) countsForSilence(w *world) bool {
	switch {
	case !r.isMember():
		return r.present() && r.passes(w.policy)
	case r.was.standing == unplaced, r.was.unproved:
		return false
	case r.present():
		return true
	case r.kept() && !r.silent() && r.silentLately(w):
		return true // checks of it are lost, and it is alive
	}
	return !w.confirmed && (r.kept() || r.streak.Known())
}

// silentLately reports whether the address was silent within the last Fall
// intervals, even once.
func (r *row) silentLately(w *world) bool {
	return r.silent() || !r.streak.SilentAt.IsZero() && w.now.Before(r.silenceOver(w))
}

// silenceOver is when an address counts as silent no more that is not silent now.
func (r *row) silenceOver(w *world) time.Time { return r.streak.SilentAt.Add(w.policy.checks()) }

// countSilent presumes that the prober is cut off when more than min(N-1,
// MaxSilentPercent of N) of N members were silent within the last Fall intervals.
// The N are the present ones, without those that were unplaced and have not passed since, and the kept ones that answer again after a silence in
// those intervals: a dead one never does that. Where no present one passes, all
// kept ones are among them, and the leaving ones that were checked; a candidate
// that passes is one of them now. Those that are down and were silent for long prove nothing and are not
// among them.
//
// The last results alone are not enough: with six of ten checks lost at random, at
// some moments too few would be silent, and silence would take endpoints down.
func (w *world) countSilent(rows []row) {
	present, silent := 0, 0
	for i := range rows {
		r := &rows[i]
		if r.longSilent || !r.countsForSilence(w) {
			continue
		}
		present++
		if r.silentLately(w) {
			silent++
			if !r.silent() {
				w.silenceOver = sooner(w.silenceOver, r.silenceOver(w))
			}
		}
	}
	allowed := min(present-1, w.policy.MaxSilentPercent*present/100)
	if w.cutOff = silent > max(0, allowed); w.cutOff {
		w.silence = fmt.Sprintf("%d of %d endpoints were silent within %s, at most %d may be (HEALTH_CHECK_MAX_SILENT_PERCENT=%d): this daemon is presumed cut off, so silence takes no endpoint down", silent, present, w.policy.checks(), allowed, w.policy.MaxSilentPercent)
	}
}
