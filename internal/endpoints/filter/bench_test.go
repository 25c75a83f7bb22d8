package filter_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// fleet is so many workers, whose addresses are not in the order of their names.
func fleet(size int) []inventory.Node {
	nodes := make([]inventory.Node, size)
	for i := range nodes {
		place := (i * 7919) % size
		nodes[i] = inventory.Node{
			ID: fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", i), Name: fmt.Sprintf("worker-%d", i), Zone: "zone-1", Ready: true, Worker: true,
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, byte(place >> 8), byte(place)})},
		}
	}
	return nodes
}

// half returns the nodes, every other of which is not ready.
func half(nodes []inventory.Node) []inventory.Node {
	for i := range nodes {
		nodes[i].Ready = i%2 == 0
	}
	return nodes
}

// public returns the nodes, each with a further address that no subnet has.
func public(nodes []inventory.Node) []inventory.Node {
	for i := range nodes {
		nodes[i].Addresses = append(nodes[i].Addresses, netip.AddrFrom4([4]byte{203, 1, byte(i >> 8), byte(i)}))
	}
	return nodes
}

// BenchmarkApply is what the filter makes of an inventory.
func BenchmarkApply(b *testing.B) {
	for _, size := range []int{1_000, 10_000} {
		for _, c := range []struct {
			name  string
			nodes []inventory.Node
		}{{"workers", fleet(size)}, {"half_not_ready", half(fleet(size))}, {"public_too", public(fleet(size))}} {
			b.Run(fmt.Sprintf("%d/%s", size, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					filter.Apply(c.nodes, private())
				}
			})
		}
	}
}

func TestApplyAllocatesNothingPerNode(t *testing.T) {
	nodes := public(fleet(1_000))
	if got := testing.AllocsPerRun(5, func() { filter.Apply(nodes, private()) }); got > 24 {
		t.Errorf("got %.0f allocations for 1,000 nodes with two addresses each, want at most 24", got)
	}
}
