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
	// own are the endpoints that the slices of the target published at first, slices
	// what they are now.
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
	return &decision{offers[which].verdict.Published(others, offers[which].own)}
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
