package publish

import (
	"cmp"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Published returns what the slices publish, sorted by address. An address that
// stands in two slices, as after a crash between the writes of a move, is there
// once, in the state that serves more: a consumer may use either copy.
func Published(state State) []inventory.Member {
	if len(state.Slices) == 1 {
		return slices.Clip(byAddress(state.Slices[0].Endpoints)) // mostly the very ones
	}
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

// Shared returns the slices with the endpoint lists of desired where these are equal, so
// that the slices of many Services share one list, whoever read them. Known is not
// changed.
func Shared(known, desired []Slice) []Slice {
	shared := known
	for i, have := range known {
		at := slices.IndexFunc(desired, func(want Slice) bool { return want.Name == have.Name })
		if at < 0 || len(have.Endpoints) == 0 || !slices.Equal(have.Endpoints, desired[at].Endpoints) || &have.Endpoints[0] == &desired[at].Endpoints[0] {
			continue
		}
		if &shared[0] == &known[0] {
			shared = slices.Clone(known)
		}
		shared[i].Endpoints = desired[at].Endpoints
	}
	return shared
}

// excerpt gathers members of a sorted list, for a slice that held some of them perhaps
// with another state. As long as they follow each other in the list, or are the slice's
// first ones as they are, nothing is copied; mostly they are all of the list. So the
// slices of many Services share it.
type excerpt struct {
	// of is what the slice held, all the list.
	of, all []inventory.Member
	// count is how many there are, run how many of them follow each other in the list
	// from first on, and same how many are the slice's first ones. Where neither is all
	// of them, own has them.
	count, run, first, same int
	own                     []inventory.Member
}

// add adds the member at that place of the list.
func (e *excerpt) add(at int) {
	if e.count == 0 {
		e.first = at
	}
	m := e.all[at]
	run, same := e.run == e.count && at == e.first+e.count, e.same == e.count && e.same < len(e.of) && e.of[e.same] == m
	if e.own == nil && !run && !same {
		e.own = append(make([]inventory.Member, 0, len(e.of)), e.members()...)
	}
	if e.own != nil {
		e.own = append(e.own, m)
	}
	if run {
		e.run++
	}
	if same {
		e.same++
	}
	e.count++
}

// members returns them; an append to them copies them.
func (e *excerpt) members() []inventory.Member {
	switch {
	case e.own != nil:
		return e.own
	case e.run == e.count:
		return slices.Clip(e.all[e.first : e.first+e.count])
	}
	return slices.Clip(e.of[:e.same])
}
