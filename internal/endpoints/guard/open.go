package guard

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"

// readyDraining publishes draining members as ready when nothing else that works
// is, until one that is to stay has passed Rise times: those that pass, and those
// that only a rejected inventory announces to leave. While failing open one of them
// has to pass, because those that fail are ready already. Not every consumer of
// slices uses draining endpoints, and none does while a dead one is ready.
func readyDraining(p pool, rows []row, w *world) {
	works := someWorks(rows, w)
	w.note(p, rows, works)
	draining := func(r *row) bool { return r.next == inventory.StateDraining && r.condition == passing }
	if works && !w.wasReadyDraining || w.open && !some(rows, draining) {
		return
	}
	for i := range rows {
		r := &rows[i]
		if r.next == inventory.StateDraining && (r.kept() && !r.untried(w) || !r.kept() && r.mayBeReadyDraining(w)) {
			r.next, r.drains, w.readyDraining = inventory.StateReady, true, true
		}
	}
	lasts := !w.confirmed && (w.checked() || allFail(rows, w.policy))
	w.drainingShown = w.readyDraining && (lasts || p.drainingShown)
}

// note notes since when nothing that works is ready although something could be.
func (w *world) note(p pool, rows []row, works bool) {
	if works || len(rows) == 0 {
		return
	}
	w.nothingSince = p.nothingSince
	if p.nothingSince.IsZero() {
		w.nothingSince = w.now
	}
}

// checked reports whether nothing that works was ready for as long as Fall checks take.
func (w *world) checked() bool {
	return !w.nothingSince.IsZero() && w.now.Sub(w.nothingSince) >= w.policy.checks()
}

// someWorks reports whether anything ready works, as far as is known. While
// failing open, being ready says nothing.
func someWorks(rows []row, w *world) bool {
	return some(rows, func(r *row) bool {
		works := r.condition == passing || !w.open && (r.condition == belowFall || r.condition == unknown)
		return works && r.next == inventory.StateReady
	})
}

// failOpen publishes every address that stays when health alone would leave
// nothing to send traffic to: ready, until one of them has passed Rise times, or
// down, where the operator switched failing open off. Before that it waits for a
// first check of each, and leaves what was ready as it was.
func failOpen(rows []row, w *world) {
	engaged := w.open && !w.readyDraining
	if !engaged {
		if !nothingServes(rows, w) {
			return
		}
		served := some(rows, func(r *row) bool { return r.was.State.Serves() })
		if served && !w.mayDemote || !w.checkedEnough(rows, served) {
			w.wait(rows)
			return
		}
	}
	w.failOpen = w.policy.FailOpen
	state := inventory.StateDown
	if w.failOpen {
		state = inventory.StateReady
	}
	for i := range rows {
		if rows[i].stays() {
			rows[i].next = state
		}
	}
}

// nothingServes reports whether the decision leaves nothing to send traffic to
// although something stays. A draining member that works counts as something:
// failing ones that are ready would take its traffic.
func nothingServes(rows []row, w *world) bool {
	serves := func(r *row) bool {
		return r.next == inventory.StateReady || r.next == inventory.StateDraining && (r.condition == passing || r.undecided(w))
	}
	return some(rows, (*row).stays) && !some(rows, serves)
}

// checkedEnough reports whether enough is known to fail open: where something served
// before, every address that stays was checked once; where nothing did, every
// one failed Fall times. Neither is waited for longer than Fall intervals: later
// arrivals must not keep the others waiting.
func (w *world) checkedEnough(rows []row, served bool) bool {
	if allFail(rows, w.policy) {
		return true
	}
	unchecked := func(r *row) bool { return r.stays() && r.condition == unknown && r.streak.Trouble == "" }
	if served && some(rows, unchecked) {
		return w.checked()
	}
	return served || w.checked() && someFailed(rows, w.policy)
}

// someFailed reports whether an address that stays failed Fall times in a row.
func someFailed(rows []row, policy Policy) bool {
	return some(rows, func(r *row) bool { return r.stays() && r.streak.Fails >= policy.Fall })
}

// wait leaves what was ready or draining as it was.
func (w *world) wait(rows []row) {
	w.waits = true
	if !w.policy.FailOpen {
		return
	}
	for i := range rows {
		r := &rows[i]
		if was := r.was.State; r.next != was && was.Serves() {
			r.next, r.waits = was, true
		}
	}
}

// allFail reports whether all addresses that stay failed Fall times in a row,
// whether they count or not. Those that local errors kept from being checked are left out.
func allFail(rows []row, policy Policy) bool {
	checkable := func(r *row) bool { return r.stays() && (r.streak.Known() || r.streak.Trouble == "") }
	fails := func(r *row) bool { return r.streak.Fails >= policy.Fall }
	return some(rows, func(r *row) bool { return checkable(r) && fails(r) }) &&
		!some(rows, func(r *row) bool { return checkable(r) && !fails(r) })
}

// recovering reports whether FailOpen may end: an address that stays passed Rise
// times in a row, or none is left.
func recovering(rows []row, policy Policy) bool {
	return !some(rows, (*row).stays) || some(rows, func(r *row) bool { return r.stays() && r.streak.Passes >= policy.Rise })
}
