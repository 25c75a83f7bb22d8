package publish_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// history publishes one list of endpoints after the other and checks each time what
// holds after any history.
type history struct {
	*world
	t       *testing.T
	random  *rand.Rand
	members []inventory.Member
	// fresh numbers the next address that was never used.
	fresh int
}

func newHistory(t *testing.T, n, max int) *history {
	h := &history{world: newWorld(max), t: t, random: rand.New(rand.NewPCG(3, 4))}
	h.add(n)
	return h
}

// add publishes n new endpoints besides the others.
func (h *history) add(n int) {
	h.t.Helper()
	h.grow(n)
	h.check()
}

// remove takes n endpoints away, chosen at random.
func (h *history) remove(n int) {
	h.t.Helper()
	h.shrink(n)
	h.check()
}

// replace exchanges n endpoints at random for new ones in one step.
func (h *history) replace(n int) {
	h.t.Helper()
	h.shrink(n)
	h.add(n)
}

func (h *history) grow(n int) {
	for range n {
		h.fresh++
		// An odd multiplier spreads the addresses: new ones fall between old ones.
		h.members = append(h.members, ready(v4(h.fresh*7_919%(1<<24)))...)
	}
	slices.SortFunc(h.members, inventory.CompareMembers)
}

func (h *history) shrink(n int) {
	for range n {
		i, last := h.random.IntN(len(h.members)), len(h.members)-1
		h.members[i] = h.members[last]
		h.members = h.members[:last]
	}
	slices.SortFunc(h.members, inventory.CompareMembers)
}

// check publishes the endpoints. Afterwards no slice is too full, and at most twice
// as many slices hold endpoints as are needed.
func (h *history) check() {
	h.t.Helper()
	h.publish(h.members)
	n, max := len(h.members), h.target.MaxEndpoints
	if got, most := h.holding(publish.IPv4), 2*slicesFor(n, max); got > most {
		h.t.Fatalf("%d slices hold %d endpoints, want at most %d", got, n, most)
	}
	published := 0
	for _, s := range h.state.Slices {
		published += len(s.Endpoints)
		if len(s.Endpoints) > max {
			h.t.Fatalf("slice %s holds %d endpoints, want at most %d", s.Name, len(s.Endpoints), max)
		}
	}
	if published != n {
		h.t.Fatalf("got %d endpoints, want %d", published, n)
	}
}

// sizes are the sizes at which histories are tried.
func sizes() []struct{ n, max int } {
	return []struct{ n, max int }{{500, 100}, {51, 10}, {5, 100}, {10, 1}, {20, 3}}
}

func TestContract18AfterAThousandReplacementsAtMostOneSliceIsTooMany(t *testing.T) {
	tests := []struct {
		name    string
		replace func(*history)
	}{
		{"in one step", func(h *history) { h.replace(1) }},
		{"removed, then added", func(h *history) { h.remove(1); h.add(1) }},
		{"added, then removed", func(h *history) { h.add(1); h.remove(1) }},
	}
	for _, test := range tests {
		for _, size := range sizes() {
			t.Run(fmt.Sprintf("%s/%d of %d", test.name, size.n, size.max), func(t *testing.T) {
				h := newHistory(t, size.n, size.max)
				for range 1_000 {
					test.replace(h)
					if got, most := h.holding(publish.IPv4), slicesFor(size.n, size.max)+1; got > most {
						t.Fatalf("%d slices hold endpoints, want at most %d", got, most)
					}
				}
			})
		}
	}
}

func TestContract18AReplacementIsOneWriteWhateverCameBefore(t *testing.T) {
	for _, size := range sizes() {
		h := newHistory(t, size.n, size.max)
		for range 200 {
			before := h.writes
			h.replace(1)
			if got := h.writes - before; got != 1 {
				t.Fatalf("%d endpoints of %d a slice: got %d writes, want 1", size.n, size.max, got)
			}
		}
	}
}

func TestContract18TheBoundHoldsAfterShrinkingToATenthAndGrowingBack(t *testing.T) {
	for _, size := range []struct{ n, step int }{{500, 1}, {500, 7}, {500, 450}, {5_000, 100}, {5_000, 4_500}} {
		t.Run(fmt.Sprintf("%d in steps of %d", size.n, size.step), func(t *testing.T) {
			h := newHistory(t, size.n, 100)
			for range 2 {
				for len(h.members) > size.n/10 {
					h.remove(min(size.step, len(h.members)-size.n/10))
				}
				for len(h.members) < size.n {
					h.add(min(size.step, size.n-len(h.members)))
				}
			}
			t.Logf("%d slices hold %d endpoints; %d writes of %d endpoints in all", h.holding(publish.IPv4), size.n, h.writes, h.endpoints)
		})
	}
}

func TestContract18TheBoundHoldsAfterBatchesRemovedAndAddedInTurn(t *testing.T) {
	for _, n := range []int{500, 5_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			h := newHistory(t, n, 100)
			for range 20 {
				h.remove(n / 10)
				h.add(n / 10)
			}
			t.Logf("%d slices hold %d endpoints; %d writes of %d endpoints in all", h.holding(publish.IPv4), n, h.writes, h.endpoints)
		})
	}
}

func TestContract18TheBoundFollowsTheMaximumUpAndDown(t *testing.T) {
	h := newHistory(t, 500, 100)
	for _, max := range []int{10, 1_000, 1, 100, 3, 50} {
		h.target.MaxEndpoints = max
		h.check()
		if writes := h.plan(h.members); len(writes) != 0 {
			t.Errorf("max %d: the next pass writes %d slices, want none", max, len(writes))
		}
		h.replace(20)
	}
}
