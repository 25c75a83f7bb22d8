package metrics_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// BenchmarkScrape10000Nodes is a scrape of a daemon that knows 10,000 nodes.
func BenchmarkScrape10000Nodes(b *testing.B) {
	status := &syncer.Status{}
	for i := range 10_000 {
		addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		status.Verdict.Members = append(status.Verdict.Members, inventory.Member{Address: addr, State: inventory.StateReady})
		status.Findings = append(status.Findings, narration.Finding{
			Decision: inventory.Decision{Node: inventory.Identity{Name: fmt.Sprintf("w%d", i)}, Address: addr, Stage: inventory.StageGuard, Reason: inventory.Ready},
			State:    inventory.StateReady,
		})
	}
	m, err := metrics.New(metrics.Options{Registry: prometheus.NewRegistry(), Status: func() *syncer.Status { return status }})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if text := serve(m.Handler(), "text/plain"); len(text) == 0 {
			b.Fatal("got nothing")
		}
	}
}

// BenchmarkProbe is what counting adds to one health check.
func BenchmarkProbe(b *testing.B) {
	m, err := metrics.New(metrics.Options{Registry: prometheus.NewRegistry()})
	if err != nil {
		b.Fatal(err)
	}
	prober := m.Prober(&part{result: inventory.Result{Outcome: inventory.Pass}})
	b.ReportAllocs()
	for b.Loop() {
		prober.Check(b.Context(), netip.Addr{})
	}
}
