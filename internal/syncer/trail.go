package syncer

import (
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// trail joins the decisions of the filter and of the guard with what the probes
// last said of each address, sorted by node, address and stage.
func trail(filtered, judged []inventory.Decision, health inventory.Health) []inventory.Decision {
	judged = named(filtered, judged)
	all := slices.Grow(slices.Concat(filtered, judged), len(judged))
	for _, d := range judged {
		streak, ok := health[d.Address]
		if !ok || !streak.Known() && streak.Trouble == "" {
			continue
		}
		probe := inventory.Decision{Node: d.Node, Address: d.Address, Stage: inventory.StageProbe, Message: streak.Last.Message}
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
// guard does not know whose address a member of the slices is that it has not
// seen in a read: none has come, or the filter refuses the address today. The
// inputs stay as they are, both are sorted.
func named(filtered, judged []inventory.Decision) []inventory.Decision {
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
