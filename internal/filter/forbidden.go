package filter

import "net/netip"

// forbiddenRange is a range of addresses that no slice may hold.
type forbiddenRange struct {
	prefix netip.Prefix
	what   string
}

// forbidden lists what is never published nor probed, beyond what net/netip can
// tell by itself. Whoever may write slices may point a load balancer anywhere
// its network reaches (CVE-2021-25740), so no setting lifts these.
//
// Sources: RFC 1122 (this network), RFC 1112 (reserved), RFC 5737, RFC 3849 and
// RFC 9637 (documentation); the metadata services of the clouds by their own
// documentation (Azure's wire server, Alibaba, Oracle, AWS and Google on IPv6).
var forbidden = []forbiddenRange{
	{netip.MustParsePrefix("0.0.0.0/8"), "of \"this network\" (0.0.0.0/8)"},
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "of the reserved range 240.0.0.0/4"},
	{netip.MustParsePrefix("192.0.2.0/24"), "of the documentation range 192.0.2.0/24"},
	{netip.MustParsePrefix("198.51.100.0/24"), "of the documentation range 198.51.100.0/24"},
	{netip.MustParsePrefix("203.0.113.0/24"), "of the documentation range 203.0.113.0/24"},
	{netip.MustParsePrefix("2001:db8::/32"), "of the documentation range 2001:db8::/32"},
	{netip.MustParsePrefix("3fff::/20"), "of the documentation range 3fff::/20"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud metadata address"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a cloud metadata address"},
	{netip.MustParsePrefix("192.0.0.192/32"), "a cloud metadata address"},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "a cloud metadata address"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "a cloud metadata address"},
}

// forbiddenBecause says what makes addr one that is never published, or returns
// the empty string.
func forbiddenBecause(addr netip.Addr, allowLoopback bool) string {
	switch {
	case addr.IsLoopback():
		if allowLoopback {
			return ""
		}
		return "a loopback address"
	case addr.IsUnspecified():
		return "the unspecified address"
	case addr == netip.AddrFrom4([4]byte{169, 254, 169, 254}):
		return "a cloud metadata address"
	case addr.IsLinkLocalUnicast():
		return "a link-local address"
	case addr.IsMulticast():
		return "a multicast address"
	}
	for _, r := range forbidden {
		if r.prefix.Contains(addr) {
			return r.what
		}
	}
	return ""
}
