package report

import (
	"net/netip"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// nodesOf makes the entries of the nodes. Findings and trail are both sorted by
// node first, so one walk along both joins them.
func nodesOf(s *syncer.Status) []Node {
	nodes := make([]Node, 0, len(s.Findings))
	zones := make(map[netip.Addr]string)
	for _, m := range s.Verdict.Members {
		if m.Zone != "" {
			zones[m.Address] = m.Zone
		}
	}
	trail := s.Trail()
	for findings := s.Findings; len(findings) > 0; {
		end := 1
		for end < len(findings) && findings[end].Node == findings[0].Node {
			end++
		}
		var said []inventory.Decision
		said, trail = about(findings[0].Node, trail)
		for _, f := range findings[:end] {
			n := nodeOf(f, zones[f.Address], s.Health)
			n.Decisions = decisionsOf(f, said, findings[:end])
			nodes = append(nodes, n)
		}
		findings = findings[end:]
	}
	return nodes
}

// about returns what the trail says of a node, and the rest of the trail after
// it.
func about(node inventory.Identity, trail []inventory.Decision) (said, rest []inventory.Decision) {
	key := inventory.Decision{Node: node}
	before := func(a, b inventory.Decision) bool {
		return a.Node.Name < b.Node.Name || a.Node.Name == b.Node.Name && a.Node.ID < b.Node.ID
	}
	for len(trail) > 0 && before(trail[0], key) {
		trail = trail[1:]
	}
	end := 0
	for end < len(trail) && trail[end].Node == node {
		end++
	}
	return trail[:end], trail[end:]
}

// nodeOf makes the entry of one finding, without its trail.
func nodeOf(f syncer.Finding, zone string, health inventory.Health) Node {
	n := Node{
		Name: f.Node.Name, ID: f.Node.ID, Zone: zone,
		State: f.State.String(), Reason: string(f.Reason), Message: f.Message, Since: stamp(f.Since),
	}
	if !f.Address.IsValid() {
		return n
	}
	n.Address = f.Address.String()
	streak, ok := health[f.Address]
	if !ok || f.Reason == inventory.Gone {
		return n
	}
	n.Probe = probeOf(streak)
	return n
}

// probeOf returns what is known from probes, nil if nothing is.
func probeOf(streak inventory.Streak) *Probe {
	switch {
	case streak.Known():
		return &Probe{
			Outcome: streak.Last.Outcome.String(), LatencySeconds: seconds(streak.Last.Latency),
			Streak: max(streak.Passes, streak.Fails), At: stamp(streak.Last.At), Message: streak.Last.Message,
		}
	case streak.Trouble != "":
		return &Probe{Outcome: inventory.LocalError.String(), Message: streak.Trouble}
	}
	return nil
}

// decisionsOf picks from what was said of a node what belongs to one entry: all
// but what is about an address that has an entry of its own.
func decisionsOf(f syncer.Finding, said []inventory.Decision, entries []syncer.Finding) []Decision {
	own := func(addr netip.Addr) bool {
		for _, e := range entries {
			if e.Address == addr && addr != f.Address {
				return true
			}
		}
		return false
	}
	decisions := make([]Decision, 0, len(said))
	for _, d := range said {
		if d.Address.IsValid() && own(d.Address) {
			continue
		}
		decision := Decision{Stage: string(d.Stage), Reason: string(d.Reason), Message: d.Message}
		if d.Address.IsValid() && d.Address != f.Address {
			decision.Address = d.Address.String()
		}
		decisions = append(decisions, decision)
	}
	if len(decisions) == 0 {
		decisions = append(decisions, Decision{Stage: string(f.Stage), Reason: string(f.Reason), Message: f.Message})
	}
	return decisions
}
