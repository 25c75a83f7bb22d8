package inventory

import (
	"iter"
	"net/netip"
	"slices"
)

// Health holds the streak of every address that is probed. It never changes, so
// a copy of it is as good as the original; the zero value is empty.
//
// It is two sorted lists and not a map: one new result copies a list of pointers,
// and sorted addresses need no lookups.
type Health struct {
	// addresses are sorted, each once; streaks has one entry for each. What
	// either holds is shared by many values and is never written again.
	addresses []netip.Addr
	streaks   []*Streak
}

// Len returns how many addresses have a streak.
func (h Health) Len() int { return len(h.addresses) }

// Of returns the streak of an address, the zero Streak where there is none.
func (h Health) Of(address netip.Addr) Streak {
	streak, _ := h.Lookup(address)
	return streak
}

// Lookup returns the streak of an address, and whether there is one.
func (h Health) Lookup(address netip.Addr) (Streak, bool) {
	i, ok := slices.BinarySearchFunc(h.addresses, address, netip.Addr.Compare)
	if !ok {
		return Streak{}, false
	}
	return *h.streaks[i], true
}

// All yields every address and its streak, in the order of the addresses.
func (h Health) All() iter.Seq2[netip.Addr, Streak] {
	return func(yield func(netip.Addr, Streak) bool) {
		for i, address := range h.addresses {
			if !yield(address, *h.streaks[i]) {
				return
			}
		}
	}
}

// Equal reports whether both say the same of the same addresses.
func (h Health) Equal(other Health) bool {
	return slices.Equal(h.addresses, other.addresses) &&
		slices.EqualFunc(h.streaks, other.streaks, func(a, b *Streak) bool { return a == b || *a == *b })
}

// Fold returns h with every result folded into the streak of its address, in the
// order of the results. An address without a streak begins with the zero Streak.
func (h Health) Fold(results []Result, fold func(Streak, Result) Streak) Health {
	next := Health{addresses: h.addresses, streaks: slices.Clone(h.streaks)}
	var others []Result
	for _, result := range results {
		i, ok := slices.BinarySearchFunc(h.addresses, result.Address, netip.Addr.Compare)
		if !ok {
			others = append(others, result)
			continue
		}
		if streak := fold(*next.streaks[i], result); streak != *next.streaks[i] {
			next.streaks[i] = &streak
		}
	}
	if len(others) == 0 {
		return next
	}
	return next.merge(firstOf(others, fold))
}

// firstOf returns the health that results of addresses without a streak make.
func firstOf(results []Result, fold func(Streak, Result) Streak) Health {
	results = slices.Clone(results)
	slices.SortStableFunc(results, func(a, b Result) int { return a.Address.Compare(b.Address) })
	var h Health
	for _, result := range results {
		last := len(h.addresses) - 1
		if last < 0 || h.addresses[last] != result.Address {
			h.addresses, h.streaks, last = append(h.addresses, result.Address), append(h.streaks, &Streak{}), last+1
		}
		*h.streaks[last] = fold(*h.streaks[last], result)
	}
	return h
}

// merge returns the streaks of both, which have no address in common.
func (h Health) merge(other Health) Health {
	size := h.Len() + other.Len()
	all := Health{addresses: make([]netip.Addr, 0, size), streaks: make([]*Streak, 0, size)}
	addresses, streaks := h.addresses, h.streaks
	for i, address := range other.addresses {
		before, _ := slices.BinarySearchFunc(addresses, address, netip.Addr.Compare)
		all = all.concat(addresses[:before], streaks[:before]).concat(other.addresses[i:i+1], other.streaks[i:i+1])
		addresses, streaks = addresses[before:], streaks[before:]
	}
	return all.concat(addresses, streaks)
}

// concat appends to h, which must not be shared yet.
func (h Health) concat(addresses []netip.Addr, streaks []*Streak) Health {
	return Health{addresses: append(h.addresses, addresses...), streaks: append(h.streaks, streaks...)}
}

// Only returns the part of h that belongs to the given addresses, h itself where
// that is all of it. It is cheapest where they are sorted.
func (h Health) Only(addresses []netip.Addr) Health {
	if slices.Equal(h.addresses, addresses) {
		return h
	}
	if !slices.IsSortedFunc(addresses, netip.Addr.Compare) {
		addresses = slices.Clone(addresses)
		slices.SortFunc(addresses, netip.Addr.Compare)
	}
	kept := Health{addresses: make([]netip.Addr, 0, h.Len()), streaks: make([]*Streak, 0, h.Len())}
	for i, address := range h.addresses {
		for len(addresses) > 0 && addresses[0] != address && addresses[0].Less(address) {
			addresses = addresses[1:]
		}
		if len(addresses) > 0 && addresses[0] == address {
			kept.addresses, kept.streaks = append(kept.addresses, address), append(kept.streaks, h.streaks[i])
		}
	}
	if kept.Len() == h.Len() {
		return h
	}
	return kept
}

// Walk returns a walk along h.
func (h Health) Walk() Walk { return Walk{rest: h} }

// Walk looks streaks up in the order of their addresses, at the cost of a step
// where Health.Of costs a search.
type Walk struct {
	// rest are the streaks of the address asked for last and of those behind.
	rest Health
}

// Peek returns the streak of an address, which does not lie before the one that was asked
// for last; nil where there is none. The streak must not be changed.
func (w *Walk) Peek(address netip.Addr) *Streak {
	if !w.advance(address) {
		return nil
	}
	return w.rest.streaks[0]
}

// advance goes on to an address, and says whether there is a streak.
func (w *Walk) advance(address netip.Addr) bool {
	at, ok := 0, w.rest.Len() > 0 && w.rest.addresses[0] == address
	if !ok && w.rest.Len() > 1 && w.rest.addresses[1] == address {
		at, ok = 1, true
	}
	if !ok {
		at, ok = slices.BinarySearchFunc(w.rest.addresses, address, netip.Addr.Compare)
	}
	w.rest = Health{addresses: w.rest.addresses[at:], streaks: w.rest.streaks[at:]}
	return ok
}
