package bench

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
)

// History is one fleet after the other. Every run of it yields the same.
type History struct {
	Name string
	// Size is how many backends there are in the end.
	Size   int
	Fleets iter.Seq[Fleet]
}

// Replacements is n backends of which one after the other, at random, is
// exchanged for a new one.
func Replacements(n, times int) History {
	return History{fmt.Sprintf("%d, %d random replacements, one at a time", n, times), n, func(yield func(Fleet) bool) {
		random, fleet := fixed(), NewFleet(n)
		if !yield(fleet) {
			return
		}
		for i := range times {
			fleet = without(fleet, 1, random).with(n+i, 1)
			if !yield(fleet) {
				return
			}
		}
	}}
}

// Batches is n backends of which a tenth, at random, is removed and then as many
// new ones added, so many times.
func Batches(n, rounds int) History {
	return History{fmt.Sprintf("%d, 10 %% removed and added in turn, %d rounds", n, rounds), n, func(yield func(Fleet) bool) {
		random, fleet := fixed(), NewFleet(n)
		if !yield(fleet) {
			return
		}
		for i := range rounds {
			fewer := without(fleet, n/10, random)
			fleet = fewer.with(n+i*n/10, n/10)
			if !yield(fewer) || !yield(fleet) {
				return
			}
		}
	}}
}

// Shrunk is n backends, then a random tenth of them.
func Shrunk(n int) History {
	return History{fmt.Sprintf("%d, shrunk to a tenth", n), n / 10, func(yield func(Fleet) bool) {
		fleet := NewFleet(n)
		_ = yield(fleet) && yield(without(fleet, n-n/10, fixed()))
	}}
}

// GrownBack is n backends, then a random tenth of them, then n again.
func GrownBack(n int) History {
	return History{fmt.Sprintf("%d, shrunk to a tenth, grown back", n), n, func(yield func(Fleet) bool) {
		fleet := NewFleet(n)
		fewer := without(fleet, n-n/10, fixed())
		_ = yield(fleet) && yield(fewer) && yield(fewer.with(n, n-n/10))
	}}
}

// Run takes one side through the history. It is an error if the side publishes
// another number of endpoints than it was asked to.
func (h History) Run(p Publisher) (Tally, error) {
	for fleet := range h.Fleets {
		if err := p.Publish(fleet); err != nil {
			return Tally{}, fmt.Errorf("history %q: %w", h.Name, err)
		}
	}
	t := p.Tally()
	if t.Endpoints != h.Size {
		return t, fmt.Errorf("history %q: %d endpoints are published, want %d", h.Name, t.Endpoints, h.Size)
	}
	return t, nil
}

// fixed is random but the same in every run.
func fixed() *rand.Rand { return rand.New(rand.NewPCG(7, 11)) }

// without removes n backends, chosen at random.
func without(f Fleet, n int, random *rand.Rand) Fleet {
	f = slices.Clone(f)
	for range n {
		i, last := random.IntN(len(f)), len(f)-1
		f[i] = f[last]
		f = f[:last]
	}
	return f
}
