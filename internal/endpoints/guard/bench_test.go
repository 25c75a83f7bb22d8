package guard_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory/inventorytest"
)

// fleet returns the input of a decision for size endpoints that are published and
// pass, and the read that lists them.
func fleet(size int) (guard.Input, guard.Inventory) {
	read := guard.Inventory{Nodes: size, Scheduled: true}
	health := make(map[netip.Addr]inventory.Streak, size)
	for i := range size {
		a := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		read.Candidates = append(read.Candidates, inventory.Candidate{
			Address: a, Node: inventory.Identity{ID: fmt.Sprintf("id-%d", i), Name: fmt.Sprintf("node-%d", i)}, Zone: "zone-1",
		})
		health[a] = inventory.Streak{Passes: 7, Last: inventory.Result{Address: a, At: start, Outcome: inventory.Pass, Reason: inventory.Ready, Message: "connected"}}
	}
	in := guard.Input{Now: start, Read: &read, Health: inventorytest.HealthOf(health)}
	in.Memory = guard.Decide(in, defaults()).Memory
	in.Read = nil
	return in, read
}

// BenchmarkDecide is one decision while nothing happens: after results of probes,
// and after a read.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []int{100, 1_000, 10_000} {
		in, read := fleet(size)
		b.Run(fmt.Sprintf("%d/probes", size), func(b *testing.B) { decideAgain(b, in, size) })
		in.Read = &read
		b.Run(fmt.Sprintf("%d/read", size), func(b *testing.B) { decideAgain(b, in, size) })
	}
}

func decideAgain(b *testing.B, in guard.Input, size int) {
	b.Helper()
	b.ReportAllocs()
	policy := defaults()
	for b.Loop() {
		if verdict := guard.Decide(in, policy); len(verdict.Members) != size || verdict.Mode != guard.Publish {
			b.Fatalf("got %d members in mode %s, want %d in mode Publish", len(verdict.Members), verdict.Mode, size)
		}
	}
}

func TestDecideAllocatesNothingPerMemberInSteadyState(t *testing.T) {
	in, _ := fleet(1_000)
	policy := defaults()
	if got := testing.AllocsPerRun(5, func() { guard.Decide(in, policy) }); got > 20 {
		t.Errorf("got %.0f allocations for 1,000 members, want at most 20", got)
	}
}
