package explain

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// subject is what a finding is about: a node with all its addresses or, of a
// member whose node no inventory has named yet, one address.
type subject struct {
	node    inventory.Identity
	address netip.Addr
}

// ofDecision returns what a decision is about.
func ofDecision(d inventory.Decision) subject {
	if d.Node.Known() {
		return subject{node: d.Node}
	}
	return subject{address: d.Address}
}

// ofFinding returns what a finding is about.
func ofFinding(f Finding) subject { return ofDecision(f.Decision) }

// compare orders subjects as CompareDecisions orders what is about them.
func (s subject) compare(other subject) int {
	return cmp.Or(
		cmp.Compare(s.node.Name, other.node.Name),
		cmp.Compare(s.node.ID, other.node.ID),
		s.address.Compare(other.address),
	)
}

// firstSubject returns the first subject of sorted lists that are not all empty.
func firstSubject(filtered, decided []inventory.Decision, before []Finding) subject {
	all := make([]subject, 0, 3)
	if len(filtered) > 0 {
		all = append(all, ofDecision(filtered[0]))
	}
	if len(decided) > 0 {
		all = append(all, ofDecision(decided[0]))
	}
	if len(before) > 0 {
		all = append(all, ofFinding(before[0]))
	}
	return slices.MinFunc(all, subject.compare)
}

// cut splits a sorted list into what is about the subject, which is not after
// its first element's, and the rest.
func cut[E any](list []E, s subject, of func(E) subject) (its, rest []E) {
	end := 0
	for end < len(list) && of(list[end]) == s {
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
