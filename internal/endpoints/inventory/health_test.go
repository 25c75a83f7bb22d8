package inventory_test

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory/inventorytest"
)

// drawnAddr draws from few addresses of both families.
func drawnAddr() *rapid.Generator[netip.Addr] {
	return rapid.Map(rapid.IntRange(0, 11), func(n int) netip.Addr {
		if n%2 == 0 {
			return netip.AddrFrom4([4]byte{10, 0, 0, byte(n)})
		}
		return netip.AddrFrom16([16]byte{0xfd, 15: byte(n)})
	})
}

// drawnHealth draws a map, which is the model of Health.
func drawnHealth() *rapid.Generator[map[netip.Addr]inventory.Streak] {
	streak := rapid.Custom(func(t *rapid.T) inventory.Streak {
		return inventory.Streak{Passes: rapid.IntRange(0, 3).Draw(t, "passes")}
	})
	return rapid.MapOfN(drawnAddr(), streak, 0, 12)
}

// counted adds one to the passes, and makes a streak of troubles stay as it is.
func counted(s inventory.Streak, r inventory.Result) inventory.Streak {
	if r.Outcome == inventory.Pass {
		s.Passes, s.Last = s.Passes+1, r
	}
	return s
}

// wantHealth checks that h says what the model does, in the order of addresses.
func wantHealth(t *rapid.T, h inventory.Health, want map[netip.Addr]inventory.Streak) {
	t.Helper()
	var order []netip.Addr
	for address := range h.All() {
		order = append(order, address)
	}
	if got := maps.Collect(h.All()); !maps.Equal(got, want) || len(order) != len(want) || h.Len() != len(want) {
		t.Fatalf("got %v with length %d, want %v", got, h.Len(), want)
	}
	if !slices.IsSortedFunc(order, netip.Addr.Compare) {
		t.Fatalf("got addresses %v, want them sorted", order)
	}
	if !h.Equal(inventorytest.HealthOf(want)) {
		t.Fatalf("got a health that is not equal to HealthOf(%v)", want)
	}
}

func TestHealthAnswersAsAMapWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := drawnHealth().Draw(t, "health")
		h := inventorytest.HealthOf(model)
		wantHealth(t, h, model)
		asked := rapid.SliceOf(drawnAddr()).Draw(t, "asked")
		for _, address := range asked {
			want, ok := model[address]
			if got, known := h.Lookup(address); got != want || known != ok || h.Of(address) != want {
				t.Fatalf("Lookup(%s): got %v, %t, want %v, %t", address, got, known, want, ok)
			}
		}
		slices.SortFunc(asked, netip.Addr.Compare)
		walk, again := h.Walk(), h.Walk()
		for _, address := range asked {
			want, ok := model[address]
			if got := walk.Peek(address); (got != nil) != ok || ok && (*got != want || *again.Peek(address) != want) {
				t.Fatalf("on the walk, Peek(%s): got %v, want %v, %t", address, got, want, ok)
			}
		}
		other := drawnHealth().Draw(t, "other")
		if got, want := h.Equal(inventorytest.HealthOf(other)), maps.Equal(model, other); got != want {
			t.Fatalf("%v equal to %v: got %t, want %t", model, other, got, want)
		}
	})
}

func TestHealthFoldsResultsInTheirOrderAndLeavesItsInputAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := drawnHealth().Draw(t, "health")
		h := inventorytest.HealthOf(model)
		want := maps.Clone(model)
		var results []inventory.Result
		for i, address := range rapid.SliceOf(drawnAddr()).Draw(t, "results") {
			r := inventory.Result{Address: address, Latency: 1, Outcome: inventory.Pass}
			if i%3 == 2 {
				r.Outcome = inventory.LocalError
			}
			r.At = r.At.AddDate(0, 0, i)
			want[address] = counted(want[address], r)
			results = append(results, r)
		}
		given := slices.Clone(results)
		wantHealth(t, h.Fold(results, counted), want)
		wantHealth(t, h, model)
		if !slices.Equal(given, results) {
			t.Fatalf("Fold changed the results %v to %v", given, results)
		}
	})
}

func TestHealthKeepsOnlyTheAddressesThatItIsToldAndLeavesItsInputAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := drawnHealth().Draw(t, "health")
		h := inventorytest.HealthOf(model)
		addresses := rapid.SliceOfDistinct(drawnAddr(), rapid.ID).Draw(t, "addresses")
		slices.SortFunc(addresses, netip.Addr.Compare)
		given, want := slices.Clone(addresses), maps.Clone(model)
		maps.DeleteFunc(want, func(address netip.Addr, _ inventory.Streak) bool { return !slices.Contains(given, address) })
		kept := h.Only(addresses)
		wantHealth(t, kept, want)
		// What is kept is written on: that must not reach what it was kept of.
		kept.Fold([]inventory.Result{{Address: netip.MustParseAddr("10.0.0.0"), Outcome: inventory.Pass}}, counted)
		wantHealth(t, kept, want)
		wantHealth(t, h, model)
		if !slices.Equal(given, addresses) {
			t.Fatalf("Only changed the addresses %v to %v", given, addresses)
		}
	})
}

func TestHealthThatLosesNothingCostsNothingToKeep(t *testing.T) {
	model := map[netip.Addr]inventory.Streak{}
	var addresses []netip.Addr
	for i := range 1000 {
		address := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		model[address], addresses = inventory.Streak{Passes: i}, append(addresses, address)
	}
	h := inventorytest.HealthOf(model)
	if got := testing.AllocsPerRun(5, func() { h.Only(addresses) }); got != 0 {
		t.Errorf("got %.0f allocations, want none", got)
	}
	result := []inventory.Result{{Address: addresses[500], Outcome: inventory.Pass}}
	if got := testing.AllocsPerRun(5, func() { h.Fold(result, counted) }); got > 2 {
		t.Errorf("folding one result in: got %.0f allocations, want at most 2", got)
	}
}
