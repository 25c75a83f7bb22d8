package filter

import "net/netip"

// ForbiddenIPv4 returns the forbidden ranges of IPv4.
func ForbiddenIPv4() []netip.Prefix {
	var all []netip.Prefix
	for _, r := range forbidden4 {
		all = append(all, r.prefix)
	}
	return all
}

// Forbidden are all ranges that no pool may contain.
func Forbidden() []netip.Prefix {
	var all []netip.Prefix
	for _, r := range allForbidden() {
		all = append(all, r.prefix)
	}
	return all
}
