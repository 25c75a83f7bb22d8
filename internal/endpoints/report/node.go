package report

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// nodesOf makes the entries of the nodes.
func nodesOf(s *Status) []Node {
	nodes := make([]Node, 0, len(s.Findings))
	zones := make(map[netip.Addr]string)
	for _, m := range s.Verdict.Members {
		if m.Zone != "" {
			zones[m.Address] = m.Zone
		}
	}
	said := make(map[explain.Subject][]inventory.Decision)
	for _, d := range explain.Trail(s.Source.Decisions, s.Verdict.Decisions, s.Health) {
		of := explain.SubjectOf(d)
		said[of] = append(said[of], d)
	}
	for found := s.Findings; len(found) > 0; {
		subject, end := explain.SubjectOf(found[0].Decision), 1
		for end < len(found) && explain.SubjectOf(found[end].Decision) == subject {
			end++
		}
		own, others := deal(said[subject], found[:end])
		for i, f := range found[:end] {
			if i == mostOthers {
				others = nil
			}
			n := nodeOf(f, zones[f.Address], s.Health)
			n.Decisions = decisionsOf(f, own[i], others)
			nodes = append(nodes, n)
		}
		found = found[end:]
	}
	return nodes
}

// deal gives each entry of a node what was said of its address, and returns the
// others: what was said of the node, and of addresses without an entry.
func deal(said []inventory.Decision, entries []explain.Finding) (own [][]inventory.Decision, others []inventory.Decision) {
	own = make([][]inventory.Decision, len(entries))
	for _, d := range said {
		i, ok := slices.BinarySearchFunc(entries, d.Address, func(f explain.Finding, addr netip.Addr) int { return f.Address.Compare(addr) })
		if !ok {
			others = append(others, d)
			continue
		}
		own[i] = append(own[i], d)
	}
	return own, others
}

// nodeOf makes the entry of one finding, without its trail.
func nodeOf(f explain.Finding, zone string, health inventory.Health) Node {
	n := Node{
		Name: f.Node.Name, ID: f.Node.ID, Zone: zone,
		State: f.State.String(), Reason: string(f.Reason), Message: f.Text(), Since: stamp(f.Since),
	}
	if !f.Address.IsValid() {
		return n
	}
	n.Address = f.Address.String()
	if streak, ok := checksOf(f, health); ok {
		n.HealthCheck = probeOf(streak)
	}
	return n
}

// checksOf returns the checks of the address of a finding, unless they were another
// node's.
func checksOf(f explain.Finding, health inventory.Health) (inventory.Streak, bool) {
	if f.Stage != inventory.StageGuard || f.Reason == inventory.Gone {
		return inventory.Streak{}, false
	}
	return health.Lookup(f.Address)
}

// probeOf returns what is known from probes, nil if nothing is.
func probeOf(streak inventory.Streak) *HealthCheck {
	switch {
	case streak.Known():
		return &HealthCheck{
			Outcome: streak.Last.Outcome.String(), LatencySeconds: seconds(streak.Last.Latency),
			Streak: max(streak.Passes, streak.Fails), At: stamp(streak.Last.At), Message: streak.Last.Message,
		}
	case streak.Trouble != "":
		return &HealthCheck{Outcome: inventory.LocalError.String(), Message: streak.Trouble}
	}
	return nil
}

// mostOthers is how many decisions about other addresses of a node an entry has,
// and how many of its entries have any: without a bound the document would grow with
// the square of the addresses.
const mostOthers = 20

// decisionsOf makes the trail of an entry of what was said of the other addresses
// of its node before the guard, of its own address, and of the others by the
// guard. The last word is in it even where no stage has said it yet.
func decisionsOf(f explain.Finding, own, others []inventory.Decision) []Decision {
	left := 0
	if len(others) > mostOthers {
		left, others = len(others)-mostOthers, others[:mostOthers]
	}
	decisions := make([]Decision, 0, len(own)+len(others)+2)
	add := func(list []inventory.Decision, wanted func(inventory.Decision) bool) {
		for _, d := range list {
			if wanted(d) {
				decisions = append(decisions, decisionOf(d, f.Address))
			}
		}
	}
	judged := func(d inventory.Decision) bool { return d.Stage == inventory.StageGuard }
	add(others, func(d inventory.Decision) bool { return !judged(d) })
	if left > 0 {
		decisions = append(decisions, Decision{Stage: string(inventory.StageFilter), Message: fmt.Sprintf("%d further addresses of the node are left out here", left)})
	}
	add(own, func(inventory.Decision) bool { return true })
	if !slices.ContainsFunc(slices.Concat(own, others), func(d inventory.Decision) bool { return d.Stage == f.Stage && d.Reason == f.Reason }) {
		decisions = append(decisions, decisionOf(f.Decision, f.Address))
	}
	add(others, judged)
	return decisions
}

// decisionOf is a decision in the entry of an address.
func decisionOf(d inventory.Decision, entry netip.Addr) Decision {
	decision := Decision{Stage: string(d.Stage), Reason: string(d.Reason), Message: d.Text()}
	if d.Address.IsValid() && d.Address != entry {
		decision.Address = d.Address.String()
	}
	return decision
}
