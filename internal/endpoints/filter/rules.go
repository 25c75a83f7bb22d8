package filter

import (
	"net/netip"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Rules are what an address must satisfy.
type Rules struct {
	// Subnets is SECURED_SUBNET_CIDR: an address must be inside one of them.
	Subnets []netip.Prefix
	// AllowLoopback lets loopback addresses pass. Only the memory store sets
	// it, so that one machine can try the program.
	AllowLoopback bool
}

// Check returns why addr may not be published or probed, with a message that
// names the rule and the address, or an empty reason when it may.
func (r Rules) Check(addr netip.Addr) (inventory.Reason, string) {
	d := inventory.Decision{Address: addr, Stage: inventory.StageFilter}
	d.Subnet, d.Reason, d.Message = r.judge(addr)
	if d.Reason == "" {
		return "", ""
	}
	if d.Reason == inventory.OutsideSubnet {
		d.Message = r.outside()
	}
	return d.Reason, d.Text()
}

// judge returns the subnet that lets addr pass, or why it may not, with a message
// that goes on after the address. The message for OutsideSubnet is left to
// outside, which is the same for all.
func (r Rules) judge(addr netip.Addr) (netip.Prefix, inventory.Reason, string) {
	switch {
	case !addr.IsValid():
		return netip.Prefix{}, inventory.InvalidAddress, "the address is empty"
	case addr.Zone() != "":
		return netip.Prefix{}, inventory.InvalidAddress, "has a zone; report the address without it"
	case addr.Is4In6():
		return netip.Prefix{}, inventory.InvalidAddress, "is IPv4-mapped IPv6; report it as " + addr.Unmap().String()
	}
	if because := forbiddenBecause(addr, r.AllowLoopback); because != "" {
		return netip.Prefix{}, inventory.ForbiddenAddress, "is " + because + ", which is never published"
	}
	for _, subnet := range r.Subnets {
		if subnet.Contains(addr) {
			return subnet, "", ""
		}
	}
	return netip.Prefix{}, inventory.OutsideSubnet, ""
}

// outside says what is wrong with an address outside the subnets, which it spells
// as the variable does.
func (r Rules) outside() string {
	names := make([]string, len(r.Subnets))
	for i, subnet := range r.Subnets {
		names[i] = subnet.String()
	}
	return "is outside SECURED_SUBNET_CIDR=" + strings.Join(names, ",")
}
