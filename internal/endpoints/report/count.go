package report

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// summarise writes the headline. It counts what the nodes say, so that it cannot
// be better than they are.
func (d *Document) summarise(c nodeCount) {
	where := d.Service.Namespace + "/" + d.Service.Name
	d.Summary = fmt.Sprintf("%d of %d nodes ready in %s", c.ready, c.meant, where)
	switch {
	case d.StandsBy():
		d.Summary = d.Election.standingBy("standing by for " + where)
	case !d.Decided && d.Source.LastError != "":
		d.Summary = fmt.Sprintf("no decision yet for %s: the source cannot be read", where)
	case !d.Decided:
		d.Summary = fmt.Sprintf("no decision yet for %s", where)
	case d.Mode == guard.Hold.String():
		d.Summary = "Holding: " + d.Summary
	case d.Mode == guard.FailOpen.String():
		d.Summary = fmt.Sprintf("Failing open: %d of %d nodes pass, %d of %d published ready in %s", c.passing, c.meant, c.ready, c.meant, where)
	case d.Problem != nil:
		d.Summary += "; the Service cannot be filled: " + d.Problem.Kind
	}
}

// nodeCount is how many nodes are meant to be ready, are published ready, and
// passed their last health check, and stay because another replica reaches them.
type nodeCount struct{ meant, ready, passing, elsewhere int }

// and adds the nodes of another pool.
func (c nodeCount) and(other nodeCount) nodeCount {
	return nodeCount{c.meant + other.meant, c.ready + other.ready, c.passing + other.passing, c.elsewhere + other.elsewhere}
}

// countFindings counts the nodes of which a document would be made. What it says of a
// node holds for all its entries.
func countFindings(found []explain.Finding, health inventory.Health) nodeCount {
	type nodeState struct{ unready, failing, elsewhere bool }
	nodes := make(map[inventory.Identity]nodeState)
	for i := range found {
		f := &found[i]
		if !meant(f.Reason) {
			continue
		}
		node := f.Node
		if !node.Known() {
			node.ID = f.Address.String() // a member that no inventory has listed yet
		}
		streak, checked := checksOf(*f, health)
		s := nodes[node]
		s.unready = s.unready || f.State != inventory.StateReady
		s.failing = s.failing || !checked || !streak.Known() || streak.Last.Outcome != inventory.Pass
		s.elsewhere = s.elsewhere || f.Reason == inventory.ReadyElsewhere
		nodes[node] = s
	}
	c := nodeCount{meant: len(nodes)}
	for _, s := range nodes {
		if !s.unready {
			c.ready++
		}
		if !s.failing {
			c.passing++
		}
		if s.elsewhere {
			c.elsewhere++
		}
	}
	return c
}

// Meant reports whether the node is one that should be published: it is there and
// stays, runs workloads and does not ask to be left out; or it leaves, and is
// published ready because nothing else that passes is.
func (n Node) Meant() bool { return meant(inventory.Reason(n.Reason)) }

func meant(reason inventory.Reason) bool {
	switch reason {
	case inventory.NotWorker, inventory.Excluded, inventory.NoPod, inventory.Draining, inventory.Gone:
		return false
	case inventory.Ready, inventory.ReadyFailOpen, inventory.ReadyHeld, inventory.ReadyElsewhere, inventory.ReadyFailing, inventory.ReadyDraining,
		inventory.ProbePending, inventory.ProbeRefused, inventory.ProbeTimeout, inventory.ProbeUnreachable, inventory.ProbeStatus, inventory.ProbeTLS,
		inventory.NodeNotReady, inventory.NoPrivateAddress, inventory.InvalidAddress, inventory.ForbiddenAddress, inventory.OutsideSubnet, inventory.DuplicateAddress,
		inventory.UnknownNode, inventory.PlacementRejected:
	}
	return true
}
