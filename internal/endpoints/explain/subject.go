package explain

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Subject is what a finding is about: a node with all its addresses or, of a
// member whose node no inventory has named yet, one address.
type Subject struct {
	node    inventory.Identity
	address netip.Addr
}

// SubjectOf returns what a decision is about.
func SubjectOf(d inventory.Decision) Subject {
	if d.Node.Known() {
		return Subject{node: d.Node}
	}
	return Subject{address: d.Address}
}

// cut splits a sorted list into what is about the subject, which is not after
// its first element's, and the rest.
func cut(list []inventory.Decision, s Subject) (its, rest []inventory.Decision) {
	end := 0
	for end < len(list) && SubjectOf(list[end]) == s {
		end++
	}
	return list[:end], list[end:]
}

// about reports whether a decision is about the address.
func about(decisions []inventory.Decision, addr netip.Addr) bool {
	return slices.ContainsFunc(decisions, func(d inventory.Decision) bool { return d.Address == addr })
}

// find returns the finding about a node and address from a sorted list.
func find(all []Finding, node inventory.Identity, addr netip.Addr) (Finding, bool) {
	wanted := Finding{Decision: inventory.Decision{Node: node, Address: addr}}
	i, ok := slices.BinarySearchFunc(all, wanted, comparePlace)
	if !ok {
		return Finding{}, false
	}
	return all[i], true
}

// comparePlace orders findings by node and address, as CompareDecisions does.
func comparePlace(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(a.Node.Name, b.Node.Name),
		cmp.Compare(a.Node.ID, b.Node.ID),
		a.Address.Compare(b.Address),
	)
}
