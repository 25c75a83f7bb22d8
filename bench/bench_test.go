package bench_test

import (
	"fmt"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// BenchmarkPass measures one pass of each side from the very same slices, which
// upstream's reconciler has made, and reports the slices that it writes.
// benchstat -col /impl puts the sides next to each other.
func BenchmarkPass(b *testing.B) {
	for _, n := range []int{10, 100, 1_000, 10_000} {
		fleet := bench.NewFleet(n)
		upstream, ours := start(b, fleet)
		for _, change := range bench.Changes() {
			next := change.Apply(fleet)
			name := fmt.Sprintf("endpoints=%d/change=%s/impl=", n, change.Name)
			b.Run(name+"upstream", func(b *testing.B) { passUpstream(b, upstream, next) })
			b.Run(name+"plan", func(b *testing.B) { passPlan(b, ours, next) })
			b.Run(name+"guard", func(b *testing.B) { passGuard(b, fleet, next) })
		}
	}
}

// start returns both sides with slices that hold the fleet, the same on both.
func start(tb testing.TB, fleet bench.Fleet) (*bench.Upstream, *bench.Ours) {
	tb.Helper()
	upstream, ours := bench.NewUpstream(), bench.NewOurs()
	if err := upstream.Publish(fleet); err != nil {
		tb.Fatal(err)
	}
	ours.Adopt(fleet, upstream.Groups())
	return upstream, ours
}

func passUpstream(b *testing.B, upstream *bench.Upstream, next bench.Fleet) {
	b.Helper()
	pods, err := upstream.Pods(next)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	writes := 0
	for b.Loop() {
		if writes, err = upstream.Pass(pods); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(writes), "slices/op")
}

func passPlan(b *testing.B, ours *bench.Ours, next bench.Fleet) {
	b.Helper()
	members := bench.Members(next)
	b.ReportAllocs()
	writes := 0
	for b.Loop() {
		writes = len(ours.Pass(members))
	}
	b.ReportMetric(float64(writes), "slices/op")
}

func passGuard(b *testing.B, fleet, next bench.Fleet) {
	b.Helper()
	in, policy := bench.Decision(fleet, next), bench.DefaultPolicy()
	b.ReportAllocs()
	for b.Loop() {
		if verdict := guard.Decide(in, policy); verdict.Mode != guard.Publish {
			b.Fatalf("got mode %s, want Publish", verdict.Mode)
		}
	}
}
