package explain

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// Placement says what is wrong with what a group knows of its remote Service: that it cannot be
// read, or what the guard says. Without a reason nothing is. A start gets the time that the
// first checks take.
func Placement(o *pool.Outcome) guard.Placement {
	told := o.Verdict.Placement
	if p := o.Placed; p.LastErr != nil && (o.Settled || !p.LastSuccess.IsZero()) {
		told.Reason, told.Since = inventory.Reason(PlacementUnavailable), p.LastSuccess
		told.Message = p.LastErr.Error() + "; endpoints stay as they are and follow their health checks"
	}
	return told
}

// tellPlacement says when something is wrong with what is known of the remote Service, and when
// that is over.
func (p *Pool) tellPlacement(o pool.Outcome, s *Story) {
	if o.Placed.EveryNode && !p.everyNode {
		s.say(Info, "the remote Service forwards from every node, so it makes no difference where its Pods are")
	}
	p.everyNode = o.Placed.EveryNode
	told := Placement(&o)
	reason := NoticeReason(told.Reason)
	if reason == p.placement {
		return
	}
	p.placement = reason
	if reason == "" {
		s.announce(Notice{Reason: PlacementRecovered, Note: "where the Pods of the remote Service are decides again which endpoints join and leave"})
		s.say(Info, "the placement of the remote Service counts again", "nodes", told.Named)
		return
	}
	s.announce(Notice{Reason: reason, Note: told.Message})
	s.say(Warn, "something is wrong with the placement of the remote Service", "reason", string(reason), "message", told.Message)
}
