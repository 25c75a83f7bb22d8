package inventory

import (
	"iter"
	"net/netip"
	"slices"
)

// Health holds the streak of every address that is probed. It never changes, so
// a copy of it is as good as the original; the zero value is empty.
//
// It is a sorted list and not a map: one new result copies a list of pointers, and
// who walks along sorted addresses needs no lookups.
type Health struct {
	// entries are sorted by address, each once. What they hold is shared by many
	// values and is never written again.
	entries []entry
}

type entry struct {
	address netip.Addr
	streak  *Streak
}

// search finds the place of an address, and says whether it has a streak.
func search(entries []entry, address netip.Addr) (at int, known bool) {
	return slices.BinarySearchFunc(entries, address, func(e entry, address netip.Addr) int { return e.address.Compare(address) })
}

// Len returns how many addresses have a streak.
func (h Health) Len() int { return len(h.entries) }

// Of returns the streak of an address, the zero Streak where there is none.
func (h Health) Of(address netip.Addr) Streak {
	streak, _ := h.Lookup(address)
	return streak
}

// Lookup returns the streak of an address, and whether there is one.
func (h Health) Lookup(address netip.Addr) (Streak, bool) {
	i, ok := search(h.entries, address)
	if !ok {
		return Streak{}, false
	}
	return *h.entries[i].streak, true
}

// All yields every address and its streak, in the order of the addresses.
func (h Health) All() iter.Seq2[netip.Addr, Streak] {
	return func(yield func(netip.Addr, Streak) bool) {
		for _, e := range h.entries {
			if !yield(e.address, *e.streak) {
				return
			}
		}
	}
}

// Equal reports whether both say the same of the same addresses.
func (h Health) Equal(other Health) bool {
	return slices.EqualFunc(h.entries, other.entries, func(a, b entry) bool {
		return a.address == b.address && (a.streak == b.streak || *a.streak == *b.streak)
	})
}

// Fold returns h with every result folded into the streak of its address, in the
// order of the results. An address without a streak begins with the zero Streak.
func (h Health) Fold(results []Result, fold func(Streak, Result) Streak) Health {
	next := slices.Clone(h.entries)
	for _, result := range results {
		i, ok := search(next, result.Address)
		if !ok {
			next = slices.Insert(next, i, entry{result.Address, &Streak{}})
		}
		if streak := fold(*next[i].streak, result); streak != *next[i].streak {
			next[i].streak = &streak
		}
	}
	return Health{next}
}

// Only returns the part of h that belongs to the given addresses, which are sorted,
// each once; h itself where these are all of it.
func (h Health) Only(addresses []netip.Addr) Health {
	if slices.EqualFunc(h.entries, addresses, func(e entry, address netip.Addr) bool { return e.address == address }) {
		return h
	}
	kept, walk := make([]entry, 0, h.Len()), h.Walk()
	for _, address := range addresses {
		if streak := walk.Peek(address); streak != nil {
			kept = append(kept, entry{address, streak})
		}
	}
	return Health{kept}
}

// Walk returns a walk along h.
func (h Health) Walk() Walk { return Walk{rest: h.entries} }

// Walk looks streaks up in the order of their addresses, at the cost of a step
// where Health.Of costs a search.
type Walk struct {
	// rest are the address asked for last and those behind.
	rest []entry
}

// Peek returns the streak of an address, which does not lie before the one that was asked
// for last; nil where there is none. The streak must not be changed.
func (w *Walk) Peek(address netip.Addr) *Streak {
	for len(w.rest) > 0 && w.rest[0].address != address && w.rest[0].address.Less(address) {
		w.rest = w.rest[1:]
	}
	if len(w.rest) == 0 || w.rest[0].address != address {
		return nil
	}
	return w.rest[0].streak
}
