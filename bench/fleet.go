package bench

import (
	"fmt"
	"net/netip"
	"slices"
)

// MaxPerSlice is how many endpoints a slice may hold, on both sides.
const MaxPerSlice = 100

// Backend is one node and the one Pod on it.
type Backend struct {
	// Number tells backends apart; at most 1<<24.
	Number int
	Ready  bool
}

// Address is the backend's own. Neighbours by number are none by address, so
// that new addresses fall between old ones.
func (b Backend) Address() netip.Addr {
	n := b.Number * 7_919 % (1 << 24) // odd, so no two are the same
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
}

// Zone is one of three.
func (b Backend) Zone() string { return fmt.Sprintf("zone-%d", b.Number%3+1) }

// Fleet is the backends there are at one moment, in no order that matters.
type Fleet []Backend

// NewFleet returns n backends that are ready.
func NewFleet(n int) Fleet {
	var fleet Fleet
	return fleet.with(0, n)
}

// with adds n backends that are ready, numbered from first.
func (f Fleet) with(first, n int) Fleet {
	f = slices.Clone(f)
	for i := range n {
		f = append(f, Backend{Number: first + i, Ready: true})
	}
	return f
}

// Change is what happens to a fleet between two passes.
type Change struct {
	Name  string
	Apply func(Fleet) Fleet
}

// Changes are those that the benchmarks measure.
func Changes() []Change {
	return []Change{
		{"none", slices.Clone[Fleet]},
		{"replaced", func(f Fleet) Fleet { return roll(f, 1) }},
		{"flipped", func(f Fleet) Fleet {
			f = slices.Clone(f)
			f[len(f)/2].Ready = false
			return f
		}},
		{"rolled", func(f Fleet) Fleet { return roll(f, len(f)/10) }},
	}
}

// roll replaces n backends, evenly spread, with new ones.
func roll(f Fleet, n int) Fleet {
	f = slices.Clone(f)
	for i := range n {
		f[i*len(f)/n] = Backend{Number: 2_000_000 + i, Ready: true}
	}
	return f
}
