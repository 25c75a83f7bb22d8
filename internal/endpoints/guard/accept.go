package guard

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// acceptance is what rejected inventories take away after all.
type acceptance struct {
	// addresses are those whose removal this decision accepts. Of them, dead were
	// down at each inventory; the others are replaced, or no health check is made.
	addresses []netip.Addr
	// Of them, forbidden may not be checked any more.
	dead, forbidden int
	// kept counts what the newest inventory leaves out, pastThreshold what so many
	// left out that its absence rejects no further one.
	kept, pastThreshold int
	// removal is what further inventories will take away.
	removal Removal
	// replaced: as many newly listed endpoints pass as are kept.
	replaced bool
}

// accept decides which endpoints go although the inventories that leave them out
// are rejected. There are four ways:
//
//	down by failures that count at each of Threshold inventories   removed
//	left out by Threshold inventories, and replaced                drains
//	left out by Threshold inventories, and health checks are off   drains
//	the same, and its address may not be checked any more          drains
//
// The last endpoints do not go the first way: something that passes must be ready.
func accept(rows []row, w *world, counts bool) acceptance {
	a := countKept(rows, w)
	if a.kept == 0 || w.policy.Threshold == 0 {
		return a
	}
	passes := some(rows, func(r *row) bool { return r.next == inventory.StateReady && r.condition == passing })
	for i := range rows {
		r := &rows[i]
		if !r.kept() {
			continue
		}
		if counts {
			was := *r.was
			r.was = &was // its own from here on
			r.count(a, w)
		}
		switch {
		case !counts:
		case r.unprobed(w) && r.was.pastThreshold, a.replaced && r.was.pastThreshold && !w.failOpen:
			r.was.depart(w.now)
			r.next, r.accepted = r.decideLeaving(w), true
			a.addresses = append(a.addresses, r.address)
			if r.was.forbidden {
				a.forbidden++
			}
		case w.accepts && passes && r.was.downs >= w.policy.Threshold:
			r.next, r.accepted = inventory.Absent, true
			a.addresses = append(a.addresses, r.address)
			a.dead++
		}
		if !r.accepted {
			a.expect(r, w, passes)
		}
	}
	a.kept -= len(a.addresses)
	return a
}

// countKept counts the kept endpoints, and those that could replace them.
func countKept(rows []row, w *world) acceptance {
	var a acceptance
	fresh := 0
	for i := range rows {
		r := &rows[i]
		switch {
		case r.kept():
			a.kept++
			if r.was.pastThreshold {
				a.pastThreshold++
			}
		case r.present() && r.next == inventory.StateReady && r.condition == passing && (r.was.newly || r.candidate.newly):
			fresh++
		}
	}
	a.replaced = a.kept > 0 && fresh >= a.kept && !w.policy.HealthOff
	return a
}

// count counts one more scheduled inventory that was rejected and leaves the
// endpoint out, if failures that count have it down. A pass begins the count anew,
// also one that failures have followed since. Without such a result it stays.
func (r *row) count(a acceptance, w *world) {
	m := r.was
	missing := w.policy.Threshold - m.missed
	switch {
	case r.unprobed(w), a.replaced:
	case r.turned(), w.accepts && r.next != inventory.StateDown:
		m.downs, m.removeAt = 0, time.Time{}
		return
	case !w.accepts, r.condition != failing:
		return
	default:
		m.downs++
		missing = w.policy.Threshold - m.downs
	}
	if w.policy.PollInterval <= 0 {
		return
	}
	at := w.now.Add(time.Duration(missing) * w.policy.PollInterval)
	if m.removeAt.IsZero() || at.Sub(m.removeAt).Abs() > w.policy.PollInterval {
		m.removeAt = at
	}
}

// unprobed reports whether no health check can speak for the endpoint: none is
// made, or its address may not be contacted any more.
func (r *row) unprobed(w *world) bool { return w.policy.HealthOff || r.was.forbidden }

// expect adds what will become of an endpoint if the source does not recover.
func (a *acceptance) expect(r *row, w *world, passes bool) {
	left := 0
	switch {
	case r.unprobed(w), a.replaced:
		left = w.policy.Threshold - r.was.missed
	case passes && r.next == inventory.StateDown && r.condition == failing:
		left = w.policy.Threshold - r.was.downs
	default:
		return
	}
	a.removal = a.removal.with(Removal{Endpoints: 1, Inventories: max(1, left), At: r.was.removeAt})
}
