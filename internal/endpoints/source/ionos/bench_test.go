package ionos_test

import (
	"fmt"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// fleet is a cloud of that many servers, as after their creation: each has a
// public network card as well.
func fleet(b *testing.B, count int, byName bool) (*cloud, *ionos.Source) {
	b.Helper()
	c := newCloud(b)
	var servers []ionostest.Server
	var nodes []inventory.Node
	for i := range count {
		s := machine(i, fmt.Sprintf("worker-%d", i), fmt.Sprintf("10.0.%d.%d", i/256, i%256))
		s.NICs = append(s.NICs, ionostest.NIC{ID: nicID(500000 + i), LAN: 1, IPs: []string{"85.215.233.222"}})
		servers = append(servers, s)
		id := s.ID
		if byName {
			id = ""
		}
		nodes = append(nodes, worker(id, s.Name))
	}
	c.SetServers(servers...)
	return c, c.source(b, tell(nodes...))
}

func benchmarkRead(b *testing.B, count int, byName bool) {
	b.Helper()
	c, source := fleet(b, count, byName)
	read(b, source)
	c.Forget()
	b.ReportAllocs()
	for b.Loop() {
		if got := read(b, source); len(got) != count {
			b.Fatalf("got %d nodes, want %d", len(got), count)
		}
	}
	counts := c.Counts()
	b.ReportMetric(float64(counts.Requests)/float64(b.N), "requests/op")
	b.ReportMetric(float64(counts.Bytes)/float64(b.N), "bytes/op")
}

func BenchmarkReadOf100Servers(b *testing.B)  { benchmarkRead(b, 100, false) }
func BenchmarkReadOf1000Servers(b *testing.B) { benchmarkRead(b, 1000, false) }

// The fallback: all servers at depth 3.
func BenchmarkFallbackOf100Servers(b *testing.B)  { benchmarkRead(b, 100, true) }
func BenchmarkFallbackOf1000Servers(b *testing.B) { benchmarkRead(b, 1000, true) }
