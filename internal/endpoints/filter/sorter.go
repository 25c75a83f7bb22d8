package filter

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// claim is an address of a node. It names both by their places and holds no
// pointer, because ten thousand of them are sorted at every inventory.
type claim struct {
	// key orders addresses as far as it goes; see keyOf.
	key         uint64
	node, place int32
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

// sorter sorts the addresses of nodes.
type sorter struct {
	nodes []inventory.Node
	// claims holds those of nodes that may have published ones up to front, and
	// those of the other nodes from back on.
	claims      []claim
	front, back int
}

// newSorter makes room for every address of the nodes.
func newSorter(nodes []inventory.Node) *sorter {
	size := 0
	for i := range nodes {
		size += len(nodes[i].Addresses)
	}
	return &sorter{nodes: nodes, claims: make([]claim, size), back: size}
}

// add adds the addresses of a node.
func (s *sorter) add(node int, eligible bool) {
	for place, addr := range s.nodes[node].Addresses {
		c := claim{keyOf(addr), int32(node), int32(place)}
		if eligible {
			s.claims[s.front] = c
			s.front++
		} else {
			s.back--
			s.claims[s.back] = c
		}
	}
}

// sorted returns the claims of the nodes that are eligible and of those that are
// not, sorted by address, each once for each node. The claim that keeps an
// address is the first of those that have it.
func (s *sorter) sorted() (eligible, ineligible []claim) {
	same := func(a, b claim) bool { return a.node == b.node && s.address(a) == s.address(b) }
	eligible, ineligible = s.claims[:s.front], s.claims[s.back:]
	slices.SortFunc(eligible, s.compare)
	slices.SortFunc(ineligible, s.compare)
	return slices.CompactFunc(eligible, same), slices.CompactFunc(ineligible, same)
}

// compare orders claims. It leaves nothing to the order of the nodes.
func (s *sorter) compare(a, b claim) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	if order := s.address(a).Compare(s.address(b)); order != 0 {
		return order
	}
	m, n := s.node(a), s.node(b)
	return cmp.Or(
		cmp.Compare(rank(m), rank(n)),
		m.Identity().Compare(n.Identity()),
		cmp.Compare(m.Zone, n.Zone),
		cmp.Compare(a.node, b.node),
	)
}

// node returns the node of a claim.
func (s *sorter) node(c claim) *inventory.Node { return &s.nodes[c.node] }

// address returns the address of a claim.
func (s *sorter) address(c claim) netip.Addr { return s.nodes[c.node].Addresses[c.place] }

// candidate returns the candidate of a claim.
func (s *sorter) candidate(c claim) inventory.Candidate {
	node := s.node(c)
	return inventory.Candidate{Node: node.Identity(), Address: s.address(c), Zone: node.Zone, Leaving: node.Leaving}
}

// rank puts nodes that stay before those that leave.
func rank(node *inventory.Node) int {
	if node.Leaving {
		return 1
	}
	return 0
}
