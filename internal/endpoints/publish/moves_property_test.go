package publish_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// A manual edit, or a crash in the middle of a move, leaves an address in several
// slices. A lowered maximum leaves slices that hold too many. The writes land in any
// order that After allows.
func TestContract01NoReadyEndpointIsLostBetweenWritesWhateverTheSlicesHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		state := rapid.SampledFrom([]inventory.State{inventory.StateReady, inventory.StateReady, inventory.StateDraining, inventory.StateDown})
		w := newWorld(rapid.IntRange(1, 4).Draw(rt, "maximum"))
		var held [][]inventory.Member
		for i := range rapid.IntRange(1, 5).Draw(rt, "slices") {
			held = append(held, drawMembers(rt, fmt.Sprint("slice ", i), state))
		}
		w.hold(held...)
		members := drawMembers(rt, "members", state)
		var stay []netip.Addr
		for _, m := range members {
			if m.State == inventory.StateReady && inventory.StateOf(publish.Published(w.state), m.Address) == inventory.StateReady {
				stay = append(stay, m.Address)
			}
		}
		for writes := w.plan(members); len(writes) > 0; {
			free := slices.DeleteFunc(slices.Clone(writes), func(write publish.Write) bool { return waits(write, writes) })
			if len(free) == 0 {
				rt.Fatalf("writes wait for each other: %+v", writes)
			}
			next := free[rapid.IntRange(0, len(free)-1).Draw(rt, "next")]
			writes = slices.DeleteFunc(writes, func(write publish.Write) bool { return write.Slice.Name == next.Slice.Name })
			w.apply(next)
			for _, addr := range stay {
				if inventory.StateOf(publish.Published(w.state), addr) != inventory.StateReady {
					rt.Fatalf("%s is ready nowhere after the write of %s", addr, next.Slice.Name)
				}
			}
		}
	})
}

// drawMembers draws endpoints of few addresses, each once, in any state.
func drawMembers(rt *rapid.T, label string, state *rapid.Generator[inventory.State]) []inventory.Member {
	var members []inventory.Member
	for n := 1; n <= 8; n++ {
		if rapid.Bool().Draw(rt, label) {
			members = append(members, inventory.Member{Address: v4(n), State: state.Draw(rt, label)})
		}
	}
	return members
}

// waits reports whether the write must wait for another one of these.
func waits(write publish.Write, writes []publish.Write) bool {
	return slices.ContainsFunc(writes, func(other publish.Write) bool { return slices.Contains(write.After, other.Slice.Name) })
}
