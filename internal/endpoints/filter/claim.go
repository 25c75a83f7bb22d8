package filter

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// claim is an address of a node.
type claim struct {
	// key orders addresses as far as it goes; see keyOf.
	key  uint64
	node *inventory.Node
	// number is the place of the node in the inventory, place that of the address in the node.
	number, place int32
}

// claimsOf adds the addresses of a node to claims.
func claimsOf(claims []claim, node *inventory.Node, number int) []claim {
	for place, addr := range node.Addresses {
		claims = append(claims, claim{keyOf(addr), node, int32(number), int32(place)})
	}
	return claims
}

// keyOf returns a number that is smaller for one address than for another only
// if that address comes first. IPv4 addresses differ in it where they differ.
func keyOf(addr netip.Addr) uint64 {
	switch {
	case !addr.IsValid():
		return 0
	case addr.Is4():
		bytes := addr.As4()
		return uint64(binary.BigEndian.Uint32(bytes[:]))
	}
	bytes := addr.As16()
	return 1<<63 | binary.BigEndian.Uint64(bytes[:])>>1
}

// address returns the address of a claim.
func (c claim) address() netip.Addr { return c.node.Addresses[c.place] }

// sorted sorts claims by address, and leaves each node once for an address. The claim that
// keeps an address is the first of those that have it.
func sorted(claims []claim) []claim {
	slices.SortFunc(claims, compareClaims)
	return slices.CompactFunc(claims, func(a, b claim) bool { return a.node == b.node && a.address() == b.address() })
}

// compareClaims orders claims. It leaves nothing to the order of the nodes.
func compareClaims(a, b claim) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	if order := a.address().Compare(b.address()); order != 0 {
		return order
	}
	return cmp.Or(
		cmp.Compare(rank(a.node), rank(b.node)),
		a.node.Identity().Compare(b.node.Identity()),
		cmp.Compare(a.node.Zone, b.node.Zone),
		cmp.Compare(a.number, b.number),
	)
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
	return inventory.Candidate{Node: c.node.Identity(), Address: c.address(), Zone: c.node.Zone, Leaving: c.node.Leaving}
}
