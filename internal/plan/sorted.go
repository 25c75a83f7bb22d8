package plan

import (
	"cmp"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// Published returns what the slices publish, sorted by address. An address that
// stands in two slices, as after a crash between the writes of a move, is there
// once, in the state that serves more: a consumer may use either copy.
func Published(state State) []inventory.Member {
	size := 0
	for _, s := range state.Slices {
		size += len(s.Endpoints)
	}
	members := make([]inventory.Member, 0, size)
	for _, s := range state.Slices {
		members = append(members, s.Endpoints...)
	}
	return byAddress(members)
}

// byAddress returns the members sorted by address, so IPv4 before IPv6, and each
// address once, in the state that serves more.
func byAddress(members []inventory.Member) []inventory.Member {
	ascending := func(a, b inventory.Member) int { return cmp.Or(inventory.CompareMembers(a, b), -1) }
	if slices.IsSortedFunc(members, ascending) {
		return members
	}
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b inventory.Member) int {
		return cmp.Or(inventory.CompareMembers(a, b), cmp.Compare(a.State, b.State), cmp.Compare(a.Zone, b.Zone))
	})
	return slices.CompactFunc(members, func(a, b inventory.Member) bool { return a.Address == b.Address })
}

// cursor looks up one sorted list of members in another. It is fast where a member
// follows soon after the last one found, and else a binary search.
type cursor struct {
	members []inventory.Member
	next    int
}

// seek returns the place of the member with that address, and false where there
// is none after the one that it found last.
func (c *cursor) seek(m inventory.Member) (at int, found bool) {
	at, end := c.next, c.next
	for step := 1; end < len(c.members) && inventory.CompareMembers(c.members[end], m) < 0; step *= 2 {
		at, end = end+1, end+step
	}
	if end < len(c.members) && c.members[end].Address == m.Address {
		c.next = end + 1
		return end, true
	}
	i, found := slices.BinarySearchFunc(c.members[at:min(end, len(c.members))], m, inventory.CompareMembers)
	c.next = at + i
	if found {
		c.next++
	}
	return at + i, found
}

// excerpt gathers members of a list in its order, some of them perhaps with
// another state. As long as they are the list's first ones as they are, nothing is
// copied; mostly they are all of it.
type excerpt struct {
	of []inventory.Member
	// same is how many are the list's first ones, own is all where others follow.
	same int
	own  []inventory.Member
}

// add adds the next member.
func (e *excerpt) add(m inventory.Member) {
	switch {
	case e.own != nil:
		e.own = append(e.own, m)
	case e.same < len(e.of) && e.of[e.same] == m:
		e.same++
	default:
		e.own = append(make([]inventory.Member, 0, len(e.of)), e.of[:e.same]...)
		e.own = append(e.own, m)
	}
}

// members returns them; an append to them copies them.
func (e *excerpt) members() []inventory.Member {
	if e.own != nil {
		return e.own
	}
	return slices.Clip(e.of[:e.same])
}
