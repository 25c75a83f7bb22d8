package syncer

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// trail joins the decisions of the filter and of the guard with what the probes
// last said of each address, sorted by node, address and stage.
func trail(filtered, judged []inventory.Decision, health inventory.Health) []inventory.Decision {
	all := slices.Concat(filtered, judged)
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
