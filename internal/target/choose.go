package target

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// offer is what is known of one pool of a target.
type offer struct {
	// verdict is the newest, nil before the first.
	verdict *guard.Verdict
	// own are the endpoints that the slices of the target published when the group of the
	// pool began to judge, slices what they are now.
	own    []inventory.Member
	slices []plan.Slice
}

// choose returns what the slices of one of the pools publish, nil where that pool
// decided nothing yet. Failing open counts over the whole target: while an endpoint
// of another pool works, endpoints that fail are down here.
func choose(offers []offer, which int) *decision {
	if offers[which].verdict == nil {
		return nil
	}
	var others guard.Working
	for i, o := range offers {
		if i != which {
			others = others.And(o.working())
		}
	}
	v := offers[which].verdict
	return &decision{members: v.Published(others, offers[which].own), checked: v.MayReplace()}
}

// working returns what works in the pool. Without a verdict it is as its slices say.
func (o offer) working() guard.Working {
	if o.verdict != nil {
		return o.verdict.Working()
	}
	var works guard.Working
	for _, s := range o.slices {
		if !slices.ContainsFunc(s.Endpoints, func(m inventory.Member) bool { return m.State == inventory.StateReady }) {
			continue
		}
		if s.Family == plan.IPv4 {
			works.IPv4 = guard.ReadyWorks
		} else {
			works.IPv6 = guard.ReadyWorks
		}
	}
	return works
}

// Offer is what is known of one pool of a target that is decided on once.
type Offer struct {
	// Verdict is nil where nothing was decided.
	Verdict *guard.Verdict
	// Slices are those of the pool in the Service, as they are.
	Slices []plan.Slice
}

// Choose returns what the slices of one of the pools of a target publish, and false where
// nothing was decided on that pool.
func Choose(all []Offer, which int) ([]inventory.Member, bool) {
	offers := make([]offer, len(all))
	for i, o := range all {
		offers[i] = offer{verdict: o.Verdict, own: plan.Published(plan.State{Slices: o.Slices}), slices: o.Slices}
	}
	chosen := choose(offers, which)
	if chosen == nil {
		return nil, false
	}
	return chosen.members, true
}
