package explain_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory/inventorytest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// fleet is what a pass is made of while so many nodes are published and pass.
type fleet struct {
	in        guard.Input
	decisions []inventory.Decision
	verdict   guard.Verdict
}

func newFleet(size int) fleet {
	at := time.Now()
	nodes := make([]inventory.Node, size)
	health := make(map[netip.Addr]inventory.Streak, size)
	for i := range nodes {
		addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		nodes[i] = inventory.Node{
			ID: fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", i), Name: fmt.Sprintf("worker-%d", i),
			Addresses: []netip.Addr{addr}, Ready: true, Worker: true,
		}
		health[addr] = inventory.Streak{Passes: 7, Last: inventory.Result{Address: addr, At: at, Outcome: inventory.Pass, Reason: inventory.Ready, Message: "connected"}}
	}
	filtered := filter.Apply(nodes, filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	f := fleet{decisions: explain.ByName(filtered.Decisions)}
	f.in = guard.Input{Now: at, Health: inventorytest.HealthOf(health), Read: &guard.Inventory{Nodes: size, Candidates: filtered.Candidates, Decisions: filtered.Decisions}}
	f.verdict = guard.Decide(f.in, policy())
	f.in.Read, f.in.Memory = nil, f.verdict.Memory
	f.verdict = guard.Decide(f.in, policy())
	return f
}

// BenchmarkFindings sets what the surfaces cost a pass beside what its decision
// costs.
func BenchmarkFindings(b *testing.B) {
	for _, size := range []int{100, 5_000} {
		f := newFleet(size)
		b.Run(fmt.Sprintf("%d/decide", size), func(b *testing.B) {
			target := publish.Target{Namespace: "default", Service: "web", SliceName: "web-remote", MaxEndpoints: 100}
			b.ReportAllocs()
			for b.Loop() {
				v := guard.Decide(f.in, policy())
				slices, _ := publish.Desired(v.Members, publish.State{Service: publish.Service{UID: "uid"}}, target)
				publish.Diff(slices, slices)
			}
		})
		before := explain.Findings(nil, f.decisions, f.verdict, f.in.Now, f.in.Now)
		b.Run(fmt.Sprintf("%d/findings", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				explain.Findings(before, f.decisions, f.verdict, f.in.Now, f.in.Now)
			}
		})
	}
}

func TestFindingsAllocateNothingPerNodeInSteadyState(t *testing.T) {
	f := newFleet(1_000)
	before := explain.Findings(nil, f.decisions, f.verdict, f.in.Now, f.in.Now)
	if got := testing.AllocsPerRun(5, func() { explain.Findings(before, f.decisions, f.verdict, f.in.Now, f.in.Now) }); got > 10 {
		t.Errorf("got %.0f allocations for 1,000 nodes, want at most 10", got)
	}
}
