package explain

import (
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Trail joins the decisions of the filter and of the guard with what the probes
// last said of each address, sorted by node, address and stage.
func Trail(filtered, judged []inventory.Decision, health inventory.Health) []inventory.Decision {
	judged = named(filtered, judged)
	all := slices.Grow(slices.Concat(filtered, judged), len(judged))
	for _, d := range judged {
		streak, ok := health.Lookup(d.Address)
		if !ok || !streak.Known() && streak.Trouble == "" {
			continue
		}
		probe := inventory.Decision{Node: d.Node, Address: d.Address, Stage: inventory.StageHealth, Message: streak.Last.Message}
		if streak.Passes == 0 {
			probe.Reason = streak.Last.Reason
		}
		if streak.Trouble != "" {
			probe.Message = streak.Trouble
		}
		all = append(all, probe)
	}
	slices.SortStableFunc(all, inventory.CompareDecisions)
	return all
}

// named returns the guard's decisions under the names that the filter knows. The
// guard does not know the node of a recovered member that no inventory has listed
// as eligible. The answer is sorted by name; the inputs stay as they are.
func named(filtered, judged []inventory.Decision) []inventory.Decision {
	judged = ByName(judged)
	unknown := 0
	for unknown < len(judged) && !judged[unknown].Node.Known() {
		unknown++
	}
	if unknown == 0 {
		return judged
	}
	owners := make(map[netip.Addr]inventory.Decision)
	for _, d := range filtered {
		if owner, ok := owners[d.Address]; d.Address.IsValid() && (!ok || owner.Reason != "" && d.Reason == "") {
			owners[d.Address] = d
		}
	}
	all := slices.Clone(judged)
	for i := range all[:unknown] {
		all[i].Node = owners[all[i].Address].Node
	}
	slices.SortFunc(all, inventory.CompareDecisions)
	return all
}

// ByName returns decisions as they are shown. They stay as they are.
func ByName(decisions []inventory.Decision) []inventory.Decision {
	if slices.IsSortedFunc(decisions, inventory.CompareDecisions) {
		return decisions
	}
	decisions = slices.Clone(decisions)
	slices.SortStableFunc(decisions, inventory.CompareDecisions)
	return decisions
}
