package guard

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// observe folds an inventory into the memory of one family: it tells whether the
// inventory is rejected and where each member stands with it (contract 13).
//
//	the inventory lists the member   accepted   rejected
//	yes                              present    present
//	as leaving, or not at all        leaving    kept
//	its address, for another node    leaving    leaving
//	on a node without a ready Pod    unplaced   unplaced
//
// One that the inventory does not list either is unplaced by an accepted placement only.
func observe(before pool, read Inventory, f family, now time.Time, policy Policy) pool {
	after := before
	after.candidates = list(before, read.Candidates, f, now)
	verdict := judgeInventory(after, read, f, policy)
	after.cause, after.why = verdict.cause, verdict.why
	switch {
	case verdict.cause == "":
		after.rejected = 0
	case read.Scheduled:
		after.rejected++
	}
	for i, c := range after.candidates {
		if c.newly && verdict.cause == "" {
			accepted := *c
			accepted.newly = false
			after.candidates[i] = &accepted
		}
	}
	after.members = make([]*member, 0, len(before.members))
	for _, m := range before.members {
		next := *m
		c := after.candidate(m.Address)
		if c != nil {
			next.list(c)
		} else {
			next.reassign(read.Ineligible, now)
		}
		switch {
		case before.placing.unplaces(&next, c, verdict):
			next.unplace(m, before.placing, now)
		case c == nil || c.Leaving:
			next.leave(verdict, read.Scheduled, now, policy)
		}
		after.members = append(after.members, shared(m, &next))
	}
	return after
}

// list returns the candidates of one family and notes which addresses another
// node held before: they have to prove themselves again (contract 7).
func list(before pool, candidates []inventory.Candidate, f family, now time.Time) []*candidate {
	candidates = ofFamily(candidates, f)
	listed := make([]*candidate, 0, len(candidates))
	for i := range candidates {
		next := candidate{Candidate: candidates[i]}
		m, old := before.member(next.Address), before.candidate(next.Address)
		var node inventory.Identity
		switch {
		case m != nil:
			node, next.movedAt, next.newly = m.node, m.movedAt, m.newly
		case old != nil:
			node, next.movedAt, next.newly = old.Node, old.movedAt, old.newly
		default:
			next.newly = true // until the inventory turns out to be accepted
		}
		next.place(m, old, before.placing, now)
		if node.Known() && !node.Same(next.Node) {
			next.movedAt = now
		}
		listed = append(listed, shared(old, &next))
	}
	return listed
}

// ofFamily returns the candidates of one family. They are sorted, IPv4 before IPv6.
func ofFamily(candidates []inventory.Candidate, f family) []inventory.Candidate {
	second, _ := slices.BinarySearchFunc(candidates, ipv6, func(c inventory.Candidate, f family) int {
		return cmp.Compare(familyOf(c.Address), f)
	})
	if f == ipv4 {
		return candidates[:second]
	}
	return candidates[second:]
}

// list takes over what the newest inventory says of a member that it lists.
func (m *member) list(c *candidate) {
	m.node, m.Zone, m.movedAt, m.newly, m.foreign, m.unlisted = c.Node, c.Zone, c.movedAt, c.newly, false, false
	if c.Leaving {
		m.announced = true
		return
	}
	m.standing, m.announced, m.leaveAt = present, false, time.Time{}
	m.missed, m.downs, m.pastThreshold, m.removeAt = 0, 0, false, time.Time{}
}

// reassign takes over what the newest inventory says of a member that it does not
// list: which nodes that are not eligible have its address. What was measured
// before says nothing of another node.
func (m *member) reassign(ineligible []inventory.Candidate, now time.Time) {
	from, _ := slices.BinarySearchFunc(ineligible, m.Address, func(c inventory.Candidate, addr netip.Addr) int { return c.Address.Compare(addr) })
	holders := ineligible[from:]
	if to := slices.IndexFunc(holders, func(c inventory.Candidate) bool { return c.Address != m.Address }); to >= 0 {
		holders = holders[:to]
	}
	switch {
	case len(holders) == 0:
		m.foreign = false
	case !m.node.Known():
		m.node = holders[0].Node
	case slices.ContainsFunc(holders, func(c inventory.Candidate) bool { return m.node.Same(c.Node) }):
		// The node that it was published for, or the foreign one of before.
	default:
		m.node, m.foreign, m.movedAt = holders[0].Node, true, now
	}
}

// leave says where a member stands that the newest inventory announces to leave
// or leaves out.
//
//	the inventory is                            the member
//	accepted                                    leaves
//	rejected, and gives the address to another  leaves
//	rejected only for what is past the          leaves, unless it is one of those
//	threshold
//	rejected otherwise                          is kept, unless it was leaving and is
//	                                            past the threshold
func (m *member) leave(verdict assessment, scheduled bool, now time.Time, policy Policy) {
	accepted := verdict.cause == ""
	switch {
	case accepted:
		// A member that the threshold took away rejects no later inventory while it drains.
		m.pastThreshold = m.pastThreshold && m.standing == leaving
		m.missed, m.downs, m.newly, m.removeAt = 0, 0, false, time.Time{}
	case scheduled:
		m.missed++
	}
	m.pastThreshold = m.pastThreshold || policy.Threshold > 0 && m.missed >= policy.Threshold
	leaves := verdict.listedOnly
	if m.pastThreshold {
		leaves = m.standing == leaving
	}
	switch {
	case accepted, m.foreign, leaves:
		m.depart(now)
	case m.standing != kept:
		m.wasServing = m.serves()
		m.standing, m.leaveAt = kept, time.Time{}
	}
}

// depart makes the member leave, unless it does already.
func (m *member) depart(now time.Time) {
	if m.standing != leaving {
		if m.standing = leaving; m.leaveAt.IsZero() || m.leaveAt.After(now) {
			m.leaveAt = now
		}
		m.downs, m.removeAt = 0, time.Time{}
	}
}
