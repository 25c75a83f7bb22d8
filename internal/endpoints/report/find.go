package report

import (
	"net/netip"
	"slices"
	"strings"
)

// Find returns the entries about a subject: the name or id of a node, or an
// address, of an entry or in its trail.
func (d *Document) Find(subject string) []Node {
	addr, _ := netip.ParseAddr(subject)
	spelled := ""
	if addr.IsValid() {
		spelled = addr.String()
	}
	var found []Node
	for _, n := range d.Nodes {
		if n.Name == subject || n.ID != "" && strings.EqualFold(n.ID, subject) || spelled != "" && n.names(spelled) {
			found = append(found, n)
		}
	}
	return found
}

// names reports whether the entry, or a decision in its trail, is about the
// address.
func (n Node) names(address string) bool {
	return n.Address == address || slices.ContainsFunc(n.Decisions, func(d Decision) bool { return d.Address == address })
}
