package filter

import "net/netip"

// forbiddenRange is a range of addresses that no slice may hold.
type forbiddenRange struct {
	prefix netip.Prefix
	what   string
}

// forbidden lists what is never published nor probed, the first that contains an address says
// why. Slices can point a load balancer anywhere its network reaches (CVE-2021-25740), so no
// setting lifts these.
//
// Sources: RFC 1122 (this network), RFC 1112 (reserved), RFC 5737, RFC 3849 and
// RFC 9637 (documentation); RFC 4291, 2765, 6052, 8215, 3056 and 4380 (IPv6 that
// carries IPv4, and would carry a forbidden one past these rules); the metadata
// services of the clouds by their own documentation.
var forbidden = []forbiddenRange{
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of \"this network\" (0.0.0.0/8)"},
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "an address of the reserved range 240.0.0.0/4"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address of the documentation range 192.0.2.0/24"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address of the documentation range 198.51.100.0/24"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address of the documentation range 203.0.113.0/24"},
	{netip.MustParsePrefix("169.254.169.254/32"), "a cloud metadata address"}, // most clouds
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud metadata address"},   // Azure's wire server
	{netip.MustParsePrefix("100.100.100.200/32"), "a cloud metadata address"}, // Alibaba
	{netip.MustParsePrefix("192.0.0.192/32"), "a cloud metadata address"},     // Oracle
	{netip.MustParsePrefix("2001:db8::/32"), "an address of the documentation range 2001:db8::/32"},
	{netip.MustParsePrefix("3fff::/20"), "an address of the documentation range 3fff::/20"},
	{netip.MustParsePrefix("::/96"), "an address of the IPv4-in-IPv6 range ::/96"},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "an address of the IPv4-in-IPv6 range ::ffff:0:0:0/96"},
	{netip.MustParsePrefix("64:ff9b::/96"), "an address of the IPv4-in-IPv6 range 64:ff9b::/96"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an address of the IPv4-in-IPv6 range 64:ff9b:1::/48"},
	{netip.MustParsePrefix("2002::/16"), "an address of the IPv4-in-IPv6 range 2002::/16"},
	{netip.MustParsePrefix("2001::/32"), "an address of the IPv4-in-IPv6 range 2001::/32"},
	{netip.MustParsePrefix("fd00:ec2::/32"), "a cloud metadata address"},          // AWS: metadata, pod identity, DNS, time
	{netip.MustParsePrefix("fd20:ce::254/128"), "a cloud metadata address"},       // Google
	{netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), "a cloud metadata address"}, // Oracle
	{netip.MustParsePrefix("fd00:42::42/128"), "a cloud metadata address"},        // Scaleway
	{netip.MustParsePrefix("fd00:a9fe:a9fe::1/128"), "a cloud metadata address"},  // Akamai
	{netip.MustParsePrefix("fd00:100::100:200/128"), "a cloud metadata address"},  // Alibaba
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
}

// forbiddenBecause says what makes addr one that is never published, or returns
// the empty string.
func forbiddenBecause(addr netip.Addr, allowLoopback bool) string {
	switch {
	case addr.Is4() && addr.IsPrivate():
		return "" // most are, and none of them is forbidden
	case addr.IsLoopback() && allowLoopback:
		return ""
	case addr.IsUnspecified():
		return "the unspecified address"
	}
	for _, r := range forbidden {
		if r.prefix.Contains(addr) {
			return r.what
		}
	}
	return ""
}

// ForbiddenIn says what in a range is never published nor probed, or returns the empty
// string.
func ForbiddenIn(subnet netip.Prefix) string {
	for _, r := range forbidden {
		if r.prefix.Overlaps(subnet) {
			return r.what
		}
	}
	return ""
}
