package filter_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// everywhere are rules that leave nothing to the subnet.
func everywhere() filter.Rules {
	return filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
}

// forbidden holds of every forbidden range its first and last address, and of
// every single one itself, by the word that the message must have.
func forbidden() map[string][]string {
	return map[string][]string{
		"unspecified":    {"0.0.0.0", "::"},
		"this network":   {"0.0.0.1", "0.255.255.255"},
		"link-local":     {"169.254.0.0", "169.254.255.255", "fe80::", "fe80::1", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		"multicast":      {"224.0.0.0", "224.0.0.1", "239.255.255.255", "ff00::", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		"reserved":       {"240.0.0.0", "255.255.255.254"},
		"broadcast":      {"255.255.255.255"},
		"documentation":  {"192.0.2.0", "192.0.2.255", "198.51.100.0", "198.51.100.255", "203.0.113.0", "203.0.113.255", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"},
		"cloud metadata": {"169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42", "fd00:a9fe:a9fe::1", "fd00:100::100:200"},
		"IPv4-in-IPv6":   {"::a9fe:a9fe", "::ffff:0:a9fe:a9fe", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::1"},
	}
}

// loopbacks are what the memory store may accept, and nothing else may.
func loopbacks() []string { return []string{"127.0.0.0", "127.0.0.1", "127.255.255.255", "::1"} }

func TestContract6ForbiddenAddressesAreNeverPublishedEvenInsideTheSubnetAndWithLoopbackAllowed(t *testing.T) {
	for word, addrs := range forbidden() {
		for _, addr := range addrs {
			for _, loopback := range []bool{false, true} {
				rules := everywhere()
				rules.AllowLoopback = loopback
				wantForbidden(t, rules, addr, word)
			}
		}
	}
}

func TestContract6LoopbackIsForbiddenUnlessTheRulesAllowIt(t *testing.T) {
	for _, addr := range loopbacks() {
		rules := everywhere()
		wantForbidden(t, rules, addr, "loopback")
		rules.AllowLoopback = true
		if reason, message := rules.Check(netip.MustParseAddr(addr)); reason != "" {
			t.Errorf("Check(%s) with loopback allowed: got %q, %q; want it to pass", addr, reason, message)
		}
	}
}

func TestContract6AllowedLoopbackStillHasToBeInsideTheSubnet(t *testing.T) {
	rules := private()
	rules.AllowLoopback = true
	if reason, _ := rules.Check(netip.MustParseAddr("127.0.0.1")); reason != inventory.OutsideSubnet {
		t.Errorf("got %q, want %q", reason, inventory.OutsideSubnet)
	}
}

func TestContract6NothingOutsideTheSubnetIsPublished(t *testing.T) {
	tests := map[string]inventory.Reason{
		"10.0.0.0": "", "10.0.255.255": "", "fd12::": "", "fd12::ffff:ffff:ffff:ffff": "",
		"9.255.255.255": inventory.OutsideSubnet, "10.1.0.0": inventory.OutsideSubnet,
		"fd12:0:0:1::": inventory.OutsideSubnet, "fd11:ffff:ffff:ffff:ffff:ffff:ffff:ffff": inventory.OutsideSubnet,
	}
	for addr, want := range tests {
		if got, message := private().Check(netip.MustParseAddr(addr)); got != want {
			t.Errorf("Check(%s): got %q, %q; want %q", addr, got, message, want)
		}
		if got, _ := (filter.Rules{}).Check(netip.MustParseAddr(addr)); got != inventory.OutsideSubnet {
			t.Errorf("Check(%s) without a subnet: got %q, want %q", addr, got, inventory.OutsideSubnet)
		}
	}
}

func TestContract6TheNeighboursOfForbiddenRangesPass(t *testing.T) {
	for _, addr := range []string{
		"1.0.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "223.255.255.255",
		"192.0.1.255", "192.0.3.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0",
		"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::",
		"168.63.129.15", "100.100.100.199", "fe7f::1", "fec0::1", "fd00:ec3::254", "2003::1", "2001:1::1", "64:ff9b:2::1",
	} {
		if reason, message := everywhere().Check(netip.MustParseAddr(addr)); reason != "" {
			t.Errorf("Check(%s): got %q, %q; want it to pass", addr, reason, message)
		}
	}
}

func wantForbidden(t *testing.T, rules filter.Rules, addr, word string) {
	t.Helper()
	reason, message := rules.Check(netip.MustParseAddr(addr))
	if reason != inventory.ForbiddenAddress || !strings.Contains(message, word) || !strings.Contains(message, addr) {
		t.Errorf("Check(%s) with loopback allowed %t: got %q, %q; want %q with the address and %q",
			addr, rules.AllowLoopback, reason, message, inventory.ForbiddenAddress, word)
	}
}

func TestContract6NoForbiddenRangeLiesAmongThePrivateOnesThatAreNotLookedUp(t *testing.T) {
	for _, private := range []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"} {
		for _, forbidden := range filter.Forbidden() {
			if forbidden.Overlaps(netip.MustParsePrefix(private)) {
				t.Errorf("%s is forbidden, and is inside %s, where nothing is looked up", forbidden, private)
			}
		}
	}
}
