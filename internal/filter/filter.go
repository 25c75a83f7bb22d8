package filter

import (
	"cmp"
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

// claim is an address of a node that the rules let pass.
type claim struct {
	inventory.Candidate
	// message is what the rules said.
	message string
}

// Apply returns the candidates among nodes, sorted by address, and one decision
// for each node that was refused and each address of the others, sorted. An
// address that several nodes hold stays with one of them: with one that is not
// leaving before one that is, then with the smallest id, then name.
func Apply(nodes []inventory.Node, rules Rules) ([]inventory.Candidate, []inventory.Decision) {
	var claims []claim
	decisions := make([]inventory.Decision, 0, len(nodes))
	for _, node := range nodes {
		if reason, message := refuse(node); reason != "" {
			decisions = append(decisions, decide(node.Identity(), netip.Addr{}, reason, message))
			continue
		}
		for _, addr := range distinct(node.Addresses) {
			reason, message := rules.Check(addr)
			if reason != "" {
				decisions = append(decisions, decide(node.Identity(), addr, reason, message))
				continue
			}
			claims = append(claims, claim{message: message, Candidate: inventory.Candidate{
				Node: node.Identity(), Address: addr, Zone: node.Zone, Leaving: node.Leaving,
			}})
		}
	}
	candidates, settled := settle(claims)
	decisions = append(decisions, settled...)
	slices.SortFunc(decisions, func(a, b inventory.Decision) int {
		return cmp.Or(inventory.CompareDecisions(a, b), cmp.Compare(a.Message, b.Message))
	})
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

// settle gives each address to one claim, and returns a decision for each.
func settle(claims []claim) ([]inventory.Candidate, []inventory.Decision) {
	slices.SortFunc(claims, compareClaims)
	var kept []inventory.Candidate
	decisions := make([]inventory.Decision, 0, len(claims))
	for _, c := range claims {
		reason, message := inventory.Reason(""), c.message
		if n := len(kept); n > 0 && kept[n-1].Address == c.Address {
			reason = inventory.DuplicateAddress
			message = fmt.Sprintf("%s is also the address of node %s, which keeps it", c.Address, describe(kept[n-1].Node))
		} else {
			kept = append(kept, c.Candidate)
		}
		decisions = append(decisions, decide(c.Node, c.Address, reason, message))
	}
	return kept, decisions
}

// compareClaims orders claims by address and, for one address, the one that
// keeps it first. It leaves nothing to the order of the nodes.
func compareClaims(a, b claim) int {
	return cmp.Or(
		a.Address.Compare(b.Address),
		cmp.Compare(a.rank(), b.rank()),
		a.Node.Compare(b.Node),
		cmp.Compare(a.Zone, b.Zone),
	)
}

// rank puts nodes that stay before those that leave.
func (c claim) rank() int {
	if c.Leaving {
		return 1
	}
	return 0
}

// describe names a node so that it cannot be taken for one of the same name.
func describe(node inventory.Identity) string {
	if node.ID == "" {
		return node.Name
	}
	return fmt.Sprintf("%s (id %s)", node.Name, node.ID)
}

// decide makes a decision of this stage.
func decide(node inventory.Identity, addr netip.Addr, reason inventory.Reason, message string) inventory.Decision {
	return inventory.Decision{Node: node, Address: addr, Stage: inventory.StageFilter, Reason: reason, Message: message}
}
