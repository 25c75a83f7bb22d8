package writer

import (
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// Rank is how urgent a write is, the most urgent first.
type Rank int

// The ranks.
const (
	// Loss takes an endpoint away from traffic that must not get it any more.
	Loss Rank = iota
	// Gain gives traffic an endpoint.
	Gain
	// Rest is all else: ports, zones, endpoints that drain.
	Rest
)

// ranked returns the writes with their ranks, the most urgent first. What another
// write waits for is as urgent as that one.
//
// Diff lists first what others wait for. A write that names a later one takes away
// a copy of what that one publishes already, and does not wait: two such writes
// would wait for each other.
func (o *Outbox) ranked(writes []publish.Write, known []publish.Slice) []entry {
	place := make(map[string]int, len(writes))
	planned := o.Planned(known)
	o.final = slices.Clone(planned)
	for i, w := range writes {
		place[w.Slice.Name] = i
		o.final = put(o.final, w.Slice)
	}
	entries := make([]entry, len(writes))
	for i, w := range writes {
		w.After = slices.DeleteFunc(slices.Clone(w.After), func(name string) bool { return place[name] > i })
		entries[i] = entry{Write: w, rank: rankOf(w, find(known, w.Slice.Name), o.final)}
	}
	for i := len(entries) - 1; i >= 0; i-- {
		for _, name := range entries[i].After {
			if at, ok := place[name]; ok {
				entries[at].rank = min(entries[at].rank, entries[i].rank)
			}
		}
	}
	for _, e := range entries {
		if w, ok := o.losses(e.Write, planned); ok {
			entries = append(entries, entry{w, e.rank, true})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return int(a.rank) - int(b.rank) })
	return entries
}

// losses returns what the write takes away, where the server refuses the whole, or where what
// the whole waits for cannot be written: a dead endpoint does not stay because of something else.
func (o *Outbox) losses(w publish.Write, planned []publish.Slice) (losses publish.Write, found bool) {
	fails := func(name string) bool {
		r := o.records[name]
		return name != w.Slice.Name && r != nil && r.err != nil
	}
	awaited := slices.Clone(w.After)
	for _, addr := range w.Removed {
		awaited = append(awaited, o.arriving(addr)...)
	}
	if r := o.records[w.Slice.Name]; (r == nil || !r.refused) && !slices.ContainsFunc(awaited, fails) {
		return publish.Write{}, false
	}
	losses, found = publish.Losses(find(planned, w.Slice.Name), o.final)
	return losses, found && !losses.Slice.Same(w.Slice)
}

// rankOf says how urgent a write is that changes the slice as it is, where final
// is what all slices come to. What only moves to another slice is no loss.
func rankOf(w publish.Write, have publish.Slice, final []publish.Slice) Rank {
	lost := func(addr netip.Addr) bool { return serves(have, addr) && !served(final, addr) }
	switch {
	case slices.ContainsFunc(w.Changed, lost), slices.ContainsFunc(w.Removed, lost):
		return Loss
	case slices.ContainsFunc(slices.Concat(w.Added, w.Changed), func(addr netip.Addr) bool {
		return w.Slice.StateOf(addr) == inventory.StateReady && have.StateOf(addr) != inventory.StateReady
	}):
		return Gain
	}
	return Rest
}

// serves reports whether traffic can reach the address by the slice.
func serves(s publish.Slice, addr netip.Addr) bool { return s.StateOf(addr).Serves() }

// published reports whether any of the slices holds the address.
func published(all []publish.Slice, addr netip.Addr) bool {
	return slices.ContainsFunc(all, func(s publish.Slice) bool { return s.StateOf(addr) != inventory.Absent })
}

// served reports whether traffic can reach the address by any of the slices.
func served(all []publish.Slice, addr netip.Addr) bool {
	return slices.ContainsFunc(all, func(s publish.Slice) bool { return serves(s, addr) })
}

// blocked reports whether the write has to wait for another one, or its own slice
// takes no part.
func (o *Outbox) blocked(w publish.Write) bool {
	r := o.records[w.Slice.Name]
	if r != nil && r.write != nil {
		return true
	}
	for _, name := range w.After {
		if slices.ContainsFunc(o.waiting, func(e entry) bool { return e.Slice.Name == name }) {
			return true
		}
	}
	return slices.ContainsFunc(w.Removed, func(addr netip.Addr) bool { return len(o.arriving(addr)) > 0 && published(o.final, addr) })
}

// arriving names the slices with a write that is not known to have landed and publishes the
// address: until it has, no other slice may drop it, unless nothing is to publish it any more.
func (o *Outbox) arriving(addr netip.Addr) (names []string) {
	for name, r := range o.records {
		if r.write != nil && r.write.Slice.StateOf(addr) != inventory.Absent {
			names = append(names, name)
		}
	}
	return names
}

// readyIn counts the ready endpoints of one slice.
func readyIn(s publish.Slice) int {
	ready := 0
	for _, m := range s.Endpoints {
		if m.State == inventory.StateReady {
			ready++
		}
	}
	return ready
}

// wouldEmpty reports whether nothing of the family might be ready once the write
// has landed, although another write makes something ready: that one goes first.
func (o *Outbox) wouldEmpty(w publish.Write) bool {
	if readyIn(w.Slice) > 0 || readyIn(find(o.known, w.Slice.Name)) == 0 {
		return false
	}
	stays := func(s publish.Slice) bool {
		return s.Family == w.Slice.Family && s.Name != w.Slice.Name && o.leastReady(s) > 0
	}
	return !slices.ContainsFunc(o.known, stays) && o.gains(w)
}

// leastReady is how many ready endpoints the slice publishes, or the write in flight
// leaves there if those are fewer.
func (o *Outbox) leastReady(s publish.Slice) int {
	if r := o.records[s.Name]; r != nil && r.write != nil {
		return min(readyIn(s), readyIn(r.write.Slice))
	}
	return readyIn(s)
}

// gains reports whether another write of the family, waiting or in flight, makes
// something ready.
func (o *Outbox) gains(w publish.Write) bool {
	more := func(other publish.Write) bool {
		return other.Slice.Name != w.Slice.Name && other.Slice.Family == w.Slice.Family &&
			readyIn(other.Slice) > o.leastReady(find(o.known, other.Slice.Name))
	}
	for _, r := range o.records {
		if r.write != nil && more(*r.write) {
			return true
		}
	}
	return slices.ContainsFunc(o.waiting, func(e entry) bool { return more(e.Write) && !o.follows(e.Write, w.Slice.Name) })
}

// follows reports whether the write waits for that of the slice of that name, be
// it by way of others.
func (o *Outbox) follows(w publish.Write, name string) bool {
	return slices.Contains(w.After, name) || slices.ContainsFunc(o.waiting, func(e entry) bool {
		return slices.Contains(w.After, e.Slice.Name) && o.follows(e.Write, name)
	})
}

// find returns the slice of that name, a zero one if there is none.
func find(all []publish.Slice, name string) publish.Slice {
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	return publish.Slice{}
}

// put replaces the slice of that name, or adds it.
func put(all []publish.Slice, s publish.Slice) []publish.Slice {
	for i := range all {
		if all[i].Name == s.Name {
			all[i] = s
			return all
		}
	}
	return append(all, s)
}
