package filter

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// claim is an address of a node.
type claim struct {
	address netip.Addr
	node    *inventory.Node
	// number is the place of the node in the inventory.
	number int
}

// sorted sorts claims by address, and leaves each node once for an address. The claim that
// keeps an address is the first of those that have it.
func sorted(claims []claim) []claim {
	slices.SortFunc(claims, compareClaims)
	return slices.Compact(claims)
}

// compareClaims orders claims. It leaves nothing to the order of the nodes.
func compareClaims(a, b claim) int {
	if order := a.address.Compare(b.address); order != 0 {
		return order
	}
	return cmp.Or(rank(a.node)-rank(b.node), a.node.Identity().Compare(b.node.Identity()), cmp.Compare(a.node.Zone, b.node.Zone), a.number-b.number)
}

// rank puts nodes that stay before those that leave.
func rank(node *inventory.Node) int {
	if node.Leaving {
		return 1
	}
	return 0
}

// candidate returns the candidate of a claim.
func (c claim) candidate() inventory.Candidate {
	return inventory.Candidate{Node: c.node.Identity(), Address: c.address, Zone: c.node.Zone, Leaving: c.node.Leaving}
}
