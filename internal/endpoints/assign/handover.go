package assign

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// A hand-over is a use that others are to take the place of: what the documents of a
// Service say changed its pool, its ports, its check or the name of its slices.
//
//	the new                                  the old
//	is not checked, or too few pass          serves, and the Service is told
//	is checked, enough pass                  serves, where the new has other slices
//	is stored, as ready all that pass        drains for drainPeriod
//	                                         is emptied
//
// Too few is less than (100 - maxRemovalPercent) % of those that serve in the old, in each
// family: a hand-over takes no more away than an inventory may. No time ends that.
//
// Where old and new have the same slices, the write that brings the new takes the old.
type handOver struct {
	need, passing, stored Count
	// waits says that not all of the new was checked yet, unknown that nothing is known of the old, or
	// that not all of the new is granted, unread that the slices of the new are not known.
	waits, unknown, unread bool
	// by is the pool whose maxRemovalPercent counts, empty where variables say it.
	by string
}

// enough reports whether as many of the new endpoints pass as have to.
func (h *handOver) enough() bool { return !h.unknown && h.passing.covers(h.need) }

// less reports whether too few pass although all were checked.
func (h *handOver) less() bool { return !h.unknown && !h.waits && !h.enough() }

// tell says what the hand-over of a use waits for.
func (h *handOver) tell(told *PoolUse, what string) {
	switch {
	case h.unknown, h.waits:
		told.Message = fmt.Sprintf("%s: the old endpoints stay until all new endpoints were checked", what)
	case h.less():
		need := cmp.Or(h.need, Count{IPv4: 1})
		remedy := "set MAX_REMOVAL_PERCENT higher"
		if h.by != "" {
			remedy = fmt.Sprintf("set spec.guard.maxRemovalPercent of EndpointPool %s higher or remove the namespace from its spec.allow", h.by)
		}
		told.Waits, told.Message = TakesOverWithLess, fmt.Sprintf("%s, but only %s of the new endpoints pass their checks, and at least %s must pass: the old endpoints stay; make more of the new endpoints pass, or, if the change is meant, %s",
			what, h.passing, need, remedy)
	default:
		told.Waits, told.Message = "Stored", fmt.Sprintf("%s: the old endpoints stay until the API server has stored %s of the new endpoints as ready; it has %s", what, h.passing, h.stored)
	}
}

// serving returns which endpoints of a use work, as far as is known. Where its group has decided
// nothing, those count that its slices have as ready. They are not known before these were read.
func (in *Input) serving(key Key, u *use) (iter.Seq[netip.Addr], bool) {
	if health, decided := in.Health(u.Group); decided {
		return health.Serving, true
	}
	return in.Stored(key, u.SliceName(key))
}

// handOver returns how far uses are handed over together to others. The endpoints of the others all
// have the same ports.
func (in *Input) handOver(key Key, old []*use, percent int, others []Group) handOver {
	var h handOver
	var serve, passing []useEndpoints
	for _, u := range old {
		serving, known := in.serving(key, u)
		h.unknown = h.unknown || !known
		serve = append(serve, useEndpoints{u.Ports, serving})
	}
	taken := countOf(serve...)
	share := func(n int) int { return (n*(100-percent) + 99) / 100 }
	h.need = Count{share(taken.IPv4), share(taken.IPv6)}
	for _, g := range others {
		if health, decided := in.Health(g); decided && health.Checked {
			passing = append(passing, useEndpoints{all: health.Passing})
		} else {
			h.waits = true
		}
	}
	h.passing = countOf(passing...)
	return h
}

// percentOf is how much of what passes a hand-over from one pool may take away: as its
// document says or, where there is none, that of the pool that takes over.
func percentOf(pools map[string]*v1alpha1.EndpointPool, from, to string) (percent int, by string) {
	for _, name := range []string{from, to} {
		if pool := pools[name]; pool != nil && pool.Spec.Guard.MaxRemovalPercent != nil {
			return int(*pool.Spec.Guard.MaxRemovalPercent), name
		}
	}
	return v1alpha1.DefaultMaxRemovalPercent, to
}

// replace says what becomes of a use that the binding does not name any more.
func (l *leave) replace(key Key, t target, i int, told *PoolUse, out *Plan) {
	u := &t.uses[i]
	if u.emptied {
		return
	}
	h, others := l.handOver(key, t, i)
	what := "the binding does not name the pool any more"
	if slices.ContainsFunc(t.uses, func(o use) bool { return o.end == "" && o.Pool == u.Pool }) {
		what = "the slices have another name now"
	}
	told.State = Leaving
	h.tell(told, what)
	stays := h.need
	if u.drains.IsZero() {
		stays = h.passing // what passes is stored before anything goes
	}
	done := h.enough() && !h.waits && h.stored.covers(stays)
	switch {
	case !done && h.unread && h.enough() && !h.waits && !u.drains.IsZero():
		// It drains, and the slices of the Service are just read anew.
	case !done && h.waits && (u.left.IsZero() || !u.drains.IsZero()) && l.in.Drains(key, u.SliceName(key)):
		// It was draining before, here or in the process before this one.
	case !done:
		u.drains = time.Time{}
		if others && h.less() {
			out.Notices = append(out.Notices, Notice{Key: key, Pool: u.Pool, Reason: TakesOverWithLess, Message: told.Message})
		}
		return
	case u.drains.IsZero():
		u.drains = l.drainsSince(key, u)
	}
	until := l.in.Now.Add(l.drainPeriod(u.Pool))
	if !u.drains.IsZero() {
		until = u.drains.Add(l.drainPeriod(u.Pool))
	}
	over := !l.in.Now.Before(until)
	if u.emptied = over && done; u.emptied {
		return
	}
	told.State, told.Until, told.Waits, told.Message = Draining, until, "", what+": its endpoints drain, and are removed then"
	if !over { // else it goes on until it is known again that the new is stored and passes
		out.at(until)
	}
}

// drainsSince is since when the endpoints of a use drain: from now on or, where its slices have
// none that is ready, since they were last changed (contract 228).
func (l *leave) drainsSince(key Key, u *use) (since time.Time) {
	for i := range l.in.Published {
		p := &l.in.Published[i]
		if p.Key == key && p.Endpoints > 0 && u.owns(key, p.Slice) && p.Changed.After(since) {
			since = p.Changed
		}
	}
	ready, _ := l.in.Stored(key, u.SliceName(key))
	if countOf(useEndpoints{all: ready}) != (Count{}) || since.IsZero() || since.After(l.in.Now) {
		return l.in.Now
	}
	return l.in.Now.Add(since.Sub(l.in.Now)) // by the clock that cannot be set, from here on
}

// handOver returns how far a use is handed over to the others of its target, and whether
// there are any.
func (l *leave) handOver(key Key, t target, i int) (h handOver, others bool) {
	u := &t.uses[i]
	var groups []Group
	var stored []useEndpoints
	var changes, unread bool
	var by string
	came := slices.ContainsFunc(t.uses, u.followedBy)
	for j := range t.uses {
		o := &t.uses[j]
		if j == i || o.end != "" || came && !u.followedBy(*o) {
			continue
		}
		proves := o.next == nil && l.rules.serves(key, &o.Use, &u.Use)
		by, others, changes = cmp.Or(by, o.Pool), true, changes || !proves
		if proves { // what still changes itself proves nothing of what it will be
			groups = append(groups, o.Group)
			now, read := l.in.Stored(key, o.SliceName(key))
			stored, unread = append(stored, useEndpoints{all: now}), unread || !read
		}
	}
	percent, by := percentOf(l.rules.pools, u.Pool, by)
	h = l.in.handOver(key, t.together(i), percent, groups)
	h.stored, h.unread, h.by, h.waits, h.unknown = countOf(stored...), unread, by, h.waits || changes, h.unknown || t.refused
	return h, others
}

// together returns a use that is to go, and those that documents stopped to name at the same time, as
// where two pools become one: the new has to be enough for all.
func (t target) together(i int) []*use {
	u := &t.uses[i]
	all := []*use{u}
	for j := range t.uses {
		if o := &t.uses[j]; j != i && !u.left.IsZero() && o.left.Equal(u.left) && o.end == replaced && o.drains.IsZero() && !o.emptied {
			all = append(all, o)
		}
	}
	return all
}

// followedBy reports whether a use came when this one ended, or later and before it drained. What the
// Service has besides takes the place of a use only where none came: it had that before.
func (u *use) followedBy(o use) bool {
	return o.end == "" && !o.began.Before(u.since) && (u.drains.IsZero() || !o.began.After(u.drains))
}

// drainPeriod is how long endpoints of a pool drain.
func (l *leave) drainPeriod(name string) time.Duration {
	if pool, ok := l.pools[name]; ok && pool.Spec.Guard.DrainPeriod != nil {
		return pool.Spec.Guard.DrainPeriod.Duration
	}
	return v1alpha1.DefaultDrainPeriod
}

// takesOver reports whether the slices of a use may be given to another port or check of
// the same pool, and says why not where all was checked.
func (r *rules) takesOver(key Key, u use, want *Use) (bool, handOver) {
	percent, by := percentOf(r.pools, u.Pool, want.Pool)
	h := r.in.handOver(key, []*use{&u}, percent, []Group{want.Group})
	if !r.in.Variables {
		h.by = by
	}
	return h.enough() && !h.waits, h
}
