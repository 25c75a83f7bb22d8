// Package sourcetest is the conformance suite of sources: what the rest of the
// program relies on, whatever a source reads from. In comes a source and a world
// that the suite may change, break and stall; out come failures of the test.
//
// It never looks at how a source works. What a source's world cannot do is left
// out only where the source's own test says why.
package sourcetest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Source is what the suite tests: one complete list of nodes, or an error.
type Source interface {
	Read(ctx context.Context) ([]inventory.Node, error)
}

// Harness is a source and its world. What ends with the test, such as a server,
// is registered with t.Cleanup by the test that makes the harness.
//
// Each function that the world has no counterpart for is nil, and the text after
// it says why; the suite fails where neither or both are given.
type Harness struct {
	Source Source

	// Put makes the world whole and lets it hold exactly these nodes.
	Put   func(nodes []inventory.Node)
	NoPut string

	// Breaks are the ways in which the world can give anything but a complete
	// answer, by name. After each of them a read must fail, until Put.
	Breaks   map[string]func()
	NoBreaks string

	// Stall keeps the world from answering, until Put or the end of the test.
	Stall   func()
	NoStall string
}

// Start makes a harness whose world holds exactly these nodes.
type Start func(t *testing.T, nodes []inventory.Node) Harness

// Options say what the source can report.
type Options struct {
	Start Start
	// Knows returns the node as a source of this kind reports it, and whether
	// it can report it at all. Nil is for sources that know all that a JSON
	// inventory can hold.
	Knows func(node inventory.Node) (inventory.Node, bool)
}

// fleet returns nodes of every sort, as far as the source knows them.
func (o Options) fleet(count int) []inventory.Node {
	knows := o.Knows
	if knows == nil {
		knows = func(n inventory.Node) (inventory.Node, bool) { return n, true }
	}
	nodes := []inventory.Node{}
	for i := range count {
		high, low := byte(i>>8), byte(i)
		node := inventory.Node{
			ID:      fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", i),
			Name:    fmt.Sprintf("worker-%d", i),
			Zone:    fmt.Sprintf("zone-%d", i%3),
			Ready:   i%5 != 1,
			Worker:  i%7 != 2,
			Leaving: i%11 == 0,
		}
		if i%6 != 5 { // some have no address
			node.Addresses = append(node.Addresses, netip.AddrFrom4([4]byte{10, 1, high, low}))
		}
		if i%4 == 3 { // some have one of each family, some of IPv6 only
			node.Addresses = append(node.Addresses, netip.AddrFrom16([16]byte{0: 0xfd, 14: high, 15: low}))
		}
		if node, ok := knows(node); ok {
			nodes = append(nodes, node)
		}
	}
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	return nodes
}

// diff compares two reads. Neither nodes nor the addresses of one have an order,
// and Detail is each source's own.
func diff(want, got []inventory.Node) string {
	byIdentity := func(a, b inventory.Node) int { return a.Identity().Compare(b.Identity()) }
	return gocmp.Diff(
		slices.SortedFunc(slices.Values(want), byIdentity),
		slices.SortedFunc(slices.Values(got), byIdentity),
		gocmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmpopts.SortSlices(func(a, b netip.Addr) bool { return cmp.Less(a.String(), b.String()) }),
		cmpopts.IgnoreFields(inventory.Node{}, "Detail"),
		cmpopts.EquateEmpty(),
	)
}

// check fails unless each ability is either there or explained.
func (h Harness) check(t *testing.T) {
	t.Helper()
	for _, ability := range []struct {
		name  string
		there bool
		why   string
	}{
		{"Put", h.Put != nil, h.NoPut},
		{"Breaks", len(h.Breaks) > 0, h.NoBreaks},
		{"Stall", h.Stall != nil, h.NoStall},
	} {
		if ability.there == (ability.why != "") {
			t.Errorf("the harness must have either %s or a reason in No%s", ability.name, ability.name)
		}
		if !ability.there {
			t.Logf("without %s: %s", ability.name, ability.why)
		}
	}
}
