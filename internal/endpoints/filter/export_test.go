package filter

import "net/netip"

// Forbidden are all ranges that no pool may contain.
func Forbidden() []netip.Prefix {
	var all []netip.Prefix
	for _, r := range forbidden {
		all = append(all, r.prefix)
	}
	return all
}
