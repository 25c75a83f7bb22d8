package filter

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
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
	switch {
	case !addr.IsValid():
		return inventory.InvalidAddress, "the address is empty"
	case addr.Zone() != "":
		return inventory.InvalidAddress, fmt.Sprintf("%s has a zone; report the address without it", addr)
	case addr.Is4In6():
		return inventory.InvalidAddress, fmt.Sprintf("%s is IPv4-mapped IPv6; report it as %s", addr, addr.Unmap())
	}
	if because := forbiddenBecause(addr, r.AllowLoopback); because != "" {
		return inventory.ForbiddenAddress, fmt.Sprintf("%s is %s, which is never published", addr, because)
	}
	for _, subnet := range r.Subnets {
		if subnet.Contains(addr) {
			return "", fmt.Sprintf("%s is inside %s of SECURED_SUBNET_CIDR", addr, subnet)
		}
	}
	return inventory.OutsideSubnet, fmt.Sprintf("%s is outside SECURED_SUBNET_CIDR=%s", addr, r.subnets())
}

// subnets renders the subnets as the variable spells them.
func (r Rules) subnets() string {
	names := make([]string, len(r.Subnets))
	for i, subnet := range r.Subnets {
		names[i] = subnet.String()
	}
	return strings.Join(names, ",")
}

// Apply returns the candidates among nodes, sorted by address, and a decision
// for each node that was refused and each address that was looked at, sorted.
// An address that several nodes hold stays with one of them: with one that is
// not leaving before one that is, then with the smallest id, then name.
func Apply(nodes []inventory.Node, rules Rules) ([]inventory.Candidate, []inventory.Decision) {
	var candidates []inventory.Candidate
	decisions := make([]inventory.Decision, 0, len(nodes))
	for _, node := range nodes {
		if reason, message := refuse(node); reason != "" {
			decisions = append(decisions, decide(node.Identity(), netip.Addr{}, reason, message))
			continue
		}
		for _, addr := range distinct(node.Addresses) {
			reason, message := rules.Check(addr)
			decisions = append(decisions, decide(node.Identity(), addr, reason, message))
			if reason == "" {
				candidates = append(candidates, inventory.Candidate{
					Node: node.Identity(), Address: addr, Zone: node.Zone, Leaving: node.Leaving,
				})
			}
		}
	}
	candidates, duplicates := unique(candidates)
	decisions = append(decisions, duplicates...)
	slices.SortFunc(decisions, inventory.CompareDecisions)
	return candidates, decisions
}

// refuse returns why no address of node may be published, whatever it is.
func refuse(node inventory.Node) (inventory.Reason, string) {
	switch {
	case node.Excluded:
		return inventory.Excluded, withDetail(node, "the node is labelled node.kubernetes.io/exclude-from-external-load-balancers")
	case !node.Worker:
		return inventory.NotWorker, withDetail(node, "the node is no worker by SECURED_NODE_SELECTOR or the inventory's worker=false")
	case !node.Ready:
		return inventory.NodeNotReady, withDetail(node, "the source reports ready=false")
	case len(node.Addresses) == 0:
		return inventory.NoPrivateAddress, withDetail(node, "the source reports no address")
	}
	return "", ""
}

// withDetail adds to a message what the source said of the node.
func withDetail(node inventory.Node, message string) string {
	if node.Detail == "" {
		return message
	}
	return message + ": " + node.Detail
}

// distinct returns the addresses of one node, sorted and each once.
func distinct(addrs []netip.Addr) []netip.Addr {
	sorted := slices.Clone(addrs)
	slices.SortFunc(sorted, netip.Addr.Compare)
	return slices.Compact(sorted)
}

// unique leaves each address with one candidate and returns a decision for each
// candidate that lost its address.
func unique(candidates []inventory.Candidate) ([]inventory.Candidate, []inventory.Decision) {
	slices.SortFunc(candidates, compareClaims)
	kept := candidates[:0:0]
	var lost []inventory.Decision
	for _, c := range candidates {
		if n := len(kept); n > 0 && kept[n-1].Address == c.Address {
			lost = append(lost, decide(c.Node, c.Address, inventory.DuplicateAddress,
				fmt.Sprintf("%s is also the address of node %s, which keeps it", c.Address, kept[n-1].Node.Name)))
			continue
		}
		kept = append(kept, c)
	}
	return kept, lost
}

// compareClaims orders candidates by address and, for one address, the node
// that keeps it first.
func compareClaims(a, b inventory.Candidate) int {
	if c := a.Address.Compare(b.Address); c != 0 {
		return c
	}
	if a.Leaving != b.Leaving {
		if b.Leaving {
			return -1
		}
		return 1
	}
	return a.Node.Compare(b.Node)
}

// decide makes a decision of this stage.
func decide(node inventory.Identity, addr netip.Addr, reason inventory.Reason, message string) inventory.Decision {
	return inventory.Decision{Node: node, Address: addr, Stage: inventory.StageFilter, Reason: reason, Message: message}
}
