package filter

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Result is what the rules make of one inventory.
type Result struct {
	// Candidates are the addresses that may be published, sorted.
	Candidates []inventory.Candidate
	// Decisions are one for each node that is left out as a whole and one for
	// each address of the others, sorted by address; those without an address
	// come first.
	Decisions []inventory.Decision
	// Ineligible are the well-formed addresses of the nodes that are left out as
	// a whole, sorted: they show that an address has moved to another node.
	Ineligible []inventory.Candidate
}

// Apply returns what may be published of nodes, and why the rest may not. An
// address that several nodes hold stays with one of them: with one that is not
// leaving before one that is, then with the smallest id, then name.
func Apply(nodes []inventory.Node, rules Rules) Result {
	var decisions []inventory.Decision
	var eligible, others []claim
	for i := range nodes {
		node, claims := &nodes[i], &eligible
		if reason, message := ineligible(node); reason != "" {
			claims, decisions = &others, append(decisions, inventory.Decision{
				Node: node.Identity(), Stage: inventory.StageFilter, Reason: reason, Message: message,
			})
		}
		for _, addr := range node.Addresses {
			*claims = append(*claims, claim{addr, node, i})
		}
	}
	eligible, others = sorted(eligible), sorted(others)
	decisions = slices.Grow(decisions, len(eligible))
	candidates, decisions := decide(eligible, decisions, rules)
	whole := slices.IndexFunc(decisions, func(d inventory.Decision) bool { return d.Address.IsValid() })
	if whole < 0 {
		whole = len(decisions)
	}
	sortDecisions(decisions[:whole])
	return Result{Candidates: candidates, Decisions: decisions, Ineligible: wellFormed(others, rules)}
}

// ineligible returns why no address of node may be published, whatever it is.
func ineligible(node *inventory.Node) (inventory.Reason, string) {
	switch {
	case node.Excluded:
		return inventory.Excluded, withDetail(node, "the node is labelled node.kubernetes.io/exclude-from-external-load-balancers")
	case !node.Worker:
		return inventory.NotWorker, withDetail(node, "the node is not a worker (SECURED_NODE_SELECTOR, or worker=false in the inventory)")
	case !node.Ready:
		return inventory.NodeNotReady, withDetail(node, "the source reports ready=false")
	case len(node.Addresses) == 0:
		return inventory.NoPrivateAddress, withDetail(node, "the source reports no address")
	}
	return "", ""
}

// withDetail adds to a message what the source said of the node.
func withDetail(node *inventory.Node, message string) string {
	if node.Detail == "" {
		return message
	}
	return message + ": " + node.Detail
}

// decide adds a decision for each claim, and gives each address that the rules
// let pass to the first that claims it.
func decide(claims []claim, decisions []inventory.Decision, rules Rules) ([]inventory.Candidate, []inventory.Decision) {
	candidates := make([]inventory.Candidate, 0, len(claims))
	outside := rules.outside()
	for len(claims) > 0 {
		addr, keeper, start := claims[0].address, claims[0], len(decisions)
		d := inventory.Decision{Address: addr, Stage: inventory.StageFilter}
		d.Subnet, d.Reason, d.Message = rules.judge(addr)
		if d.Reason == "" {
			candidates = append(candidates, keeper.candidate())
		}
		if d.Reason == inventory.OutsideSubnet {
			d.Message = outside
		}
		for ; len(claims) > 0 && claims[0].address == addr; claims = claims[1:] {
			if d.Reason == "" && len(decisions) > start {
				d.Subnet, d.Reason, d.Message = netip.Prefix{}, inventory.DuplicateAddress, taken(keeper.node)
			}
			d.Node = claims[0].node.Identity()
			decisions = append(decisions, d)
		}
		sortDecisions(decisions[start:])
	}
	return candidates, decisions
}

// wellFormed returns the claims whose addresses are well-formed.
func wellFormed(claims []claim, rules Rules) []inventory.Candidate {
	all := make([]inventory.Candidate, 0, len(claims))
	for _, c := range claims {
		if _, reason, _ := rules.judge(c.address); reason != inventory.InvalidAddress {
			all = append(all, c.candidate())
		}
	}
	slices.SortStableFunc(all, inventory.CompareCandidates)
	return all
}

// taken says that node has the address, so that it cannot be taken for another
// node of that name.
func taken(node *inventory.Node) string {
	if node.ID == "" {
		return fmt.Sprintf("is also the address of node %s, which keeps it", node.Name)
	}
	return fmt.Sprintf("is also the address of node %s (id %s), which keeps it", node.Name, node.ID)
}

// sortDecisions sorts a part of the decisions.
func sortDecisions(part []inventory.Decision) {
	slices.SortFunc(part, func(a, b inventory.Decision) int {
		return cmp.Or(inventory.CompareDecisionsByAddress(a, b), cmp.Compare(a.Message, b.Message))
	})
}
