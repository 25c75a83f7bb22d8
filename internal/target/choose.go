package target

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// offer is what is known of one pool of a target.
type offer struct {
	// verdict is the newest, nil before the first.
	verdict *guard.Verdict
	// own are the endpoints that the slices of the target published at first.
	own []inventory.Member
}

// choose returns what the slices of each pool publish, nil for a pool that decided
// nothing yet. Failing open counts over the whole target: while an endpoint of
// another pool works, endpoints that fail are down here.
func choose(offers []offer) []*decision {
	chosen := make([]*decision, len(offers))
	for i, o := range offers {
		if o.verdict == nil {
			continue
		}
		others := false
		for k, other := range offers {
			others = others || k != i && works(other)
		}
		chosen[i] = &decision{published(o, others)}
	}
	return chosen
}

// works reports whether an endpoint of the pool is known to work. Before its first
// verdict it is as its slices say.
func works(o offer) bool {
	members := o.own
	if o.verdict != nil {
		if o.verdict.Mode == guard.FailOpen {
			return false
		}
		members = o.verdict.Members
	}
	return slices.ContainsFunc(members, func(m inventory.Member) bool { return m.State == inventory.StateReady })
}

// published returns what the slices of one pool publish, where an endpoint of another
// pool works or not. It never changes the verdict, which others share.
func published(o offer, others bool) []inventory.Member {
	members := o.verdict.Members
	if !others || o.verdict.Mode != guard.FailOpen {
		return members
	}
	members = slices.Clone(members)
	for _, d := range o.verdict.Decisions {
		if d.Reason != inventory.ReadyFailOpen {
			continue
		}
		for i := range members {
			if members[i].Address == d.Address {
				members[i].State = inventory.StateDown
			}
		}
	}
	return members
}
