package guard

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// assessment is what becomes of one inventory.
type assessment struct {
	// cause and why say why it is rejected; empty where it is accepted.
	cause Cause
	why   string
	// listedOnly says that it is rejected because of endpoints that it left out
	// for long only: judged by the others, it is accepted.
	listedOnly bool
}

// judgeInventory accepts or rejects an inventory. What it would take away counts
// together with what is still draining because of earlier ones: a source that
// forgets its nodes one at a time is as wrong as one that forgets all at once.
//
// Endpoints past the threshold do not make it harder to remove others: what the
// source says of those is judged apart.
func judgeInventory(p pool, read Inventory, f family, policy Policy) assessment {
	all := tally(p, false)
	cause, why := all.reject(p, read, f, policy)
	if cause == "" {
		return assessment{}
	}
	rest, _ := tally(p, true).reject(p, read, f, policy)
	return assessment{cause: cause, why: why, listedOnly: rest == ""}
}

// count is what an inventory is judged by.
type count struct {
	// members are published, serving ones are ready or draining, and taken ones
	// of them would go.
	members, serving, taken int
}

// tally counts the members that an inventory is judged by. Those whose removal
// was accepted and that still drain do not count, nor do those past the threshold where only
// the rest is asked for. Endpoints that a rejected inventory brought are not
// among those of which a share may go: a wrong inventory must not make itself
// acceptable by what it adds. What has no ready Pod by an accepted placement does not count.
func tally(p pool, restOnly bool) count {
	var n count
	for _, m := range p.members {
		if m.pastThreshold && (restOnly || m.standing == leaving) || !p.placing.spares && p.placing.lacks(m.node) {
			continue
		}
		n.members++
		if !m.serves() {
			continue
		}
		c := p.candidate(m.Address)
		switch {
		case c == nil || c.Leaving:
			n.taken++
			n.serving++
		case !c.newly && !m.unproved:
			n.serving++
		}
	}
	return n
}

// reject says why an inventory is rejected, and returns no cause when it is not.
// A node that is announced to leave is taken away as well, and its address is no
// candidate that could stand in for another.
func (n count) reject(p pool, read Inventory, f family, policy Policy) (Cause, string) {
	stays := slices.ContainsFunc(p.candidates, func(c *candidate) bool { return !c.Leaving })
	switch {
	case n.members == 0:
		return "", ""
	case read.Nodes == 0:
		return NoNodes, fmt.Sprintf("the source lists no node, but %d %s endpoints are published", n.members, f)
	case len(p.candidates) == 0:
		return NothingPassesFilter, fmt.Sprintf("no %s address of the %d nodes is eligible%s, but %d endpoints are published", f, read.Nodes, mostly(read, f), n.members)
	case n.taken*100 > max(100, policy.MaxRemovalPercent*n.serving):
		return TooManyRemovals, fmt.Sprintf("the inventory would take away %d of %d %s endpoints, more than MAX_REMOVAL_PERCENT=%d allows at a time", n.taken, n.serving, f, policy.MaxRemovalPercent)
	case !stays:
		return NothingStays, fmt.Sprintf("all %d %s nodes of the inventory are announced to leave, so all %d endpoints would leave", len(p.candidates), f, n.members)
	}
	// It makes the whole inventory questionable, so the family of the address does not matter.
	twice := slices.IndexFunc(read.Decisions, func(d inventory.Decision) bool { return d.Reason == inventory.DuplicateAddress })
	if twice >= 0 && n.taken > 0 {
		return ContradictoryRead, fmt.Sprintf("the inventory gives %s to two nodes and would take away %d of %d %s endpoints", read.Decisions[twice].Address, n.taken, n.serving, f)
	}
	return "", ""
}

// mostly says for how many nodes the most frequent reason decided that none of their
// addresses of the family is eligible; nothing where none is known.
func mostly(read Inventory, f family) string {
	nodes := make(map[inventory.Reason]map[inventory.Identity]bool)
	for i := range read.Decisions {
		d := &read.Decisions[i]
		if d.Reason == "" || d.Address.IsValid() && familyOf(d.Address) != f {
			continue
		}
		if nodes[d.Reason] == nil {
			nodes[d.Reason] = make(map[inventory.Identity]bool)
		}
		nodes[d.Reason][d.Node] = true
	}
	var most inventory.Reason
	for _, reason := range slices.Sorted(maps.Keys(nodes)) {
		if len(nodes[reason]) > len(nodes[most]) {
			most = reason
		}
	}
	if most == "" {
		return ""
	}
	return fmt.Sprintf(" (%s: %d)", most, len(nodes[most]))
}
