package metrics_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// BenchmarkScrape10000Nodes is a scrape of a daemon that knows 10,000 nodes.
func BenchmarkScrape10000Nodes(b *testing.B) {
	c := newCrowd(b, "blue")
	g := group("blue", 80)
	c.fills("shop/web", use(g, assign.Active))
	c.planned(documents.Set{})
	c.ofGroup(g)(pool.Outcome{
		Verdict: &guard.Verdict{Members: members(10_000, 0)}, Source: pool.SourceStatus{Decisions: make([]inventory.Decision, 10_000)},
	}, explain.Pool{})
	b.ReportAllocs()
	for b.Loop() {
		if text := serve(c.metrics.Handler(), "text/plain"); len(text) == 0 {
			b.Fatal("got nothing")
		}
	}
}

// BenchmarkScrape1000Targets is a scrape of a daemon that fills 1,000 Services of 100
// endpoints: all are well, or all have a problem and so series of their own.
func BenchmarkScrape1000Targets(b *testing.B) {
	for _, well := range []bool{true, false} {
		b.Run(fmt.Sprintf("well=%t", well), func(b *testing.B) {
			c := newCrowd(b, "blue")
			g := group("blue", 80)
			c.ofGroup(g)(pool.Outcome{Verdict: &guard.Verdict{Members: members(100, 0)}}, explain.Pool{})
			for i := range 1000 {
				o := written(100, 0)
				if !well {
					o.WriteErr = errOutage
				}
				c.fill(c.fills(fmt.Sprintf("team-%d/web-%d", i%10, i), use(g, assign.Active)), o)
			}
			c.planned(documents.Set{})
			b.ReportAllocs()
			for b.Loop() {
				if text := serve(c.metrics.Handler(), "text/plain"); len(text) == 0 {
					b.Fatal("got nothing")
				}
			}
		})
	}
}

// BenchmarkOutcome is what the metrics add to one event of a group of 100 endpoints.
func BenchmarkOutcome(b *testing.B) {
	observe := newCrowd(b, "blue").metrics.OfGroup(group("blue", 80))
	o := pool.Outcome{Verdict: &guard.Verdict{Members: members(100, 0)}}
	b.ReportAllocs()
	for b.Loop() {
		observe(o, explain.Pool{})
	}
}

// BenchmarkProbe is what counting adds to one health check.
func BenchmarkProbe(b *testing.B) {
	m, err := metrics.New(metrics.Options{Registry: prometheus.NewRegistry()})
	if err != nil {
		b.Fatal(err)
	}
	prober := m.Prober("blue", &part{result: inventory.Result{Outcome: inventory.Pass}})
	b.ReportAllocs()
	for b.Loop() {
		prober.Check(b.Context(), netip.Addr{})
	}
}
