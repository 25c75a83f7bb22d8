package guard

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// family is an address family, and the index of its pool.
type family uint8

const (
	ipv4 family = iota
	ipv6
	families
)

// familyOf returns the family of an address.
func familyOf(addr netip.Addr) family {
	if addr.Is4() {
		return ipv4
	}
	return ipv6
}

// String returns the family's usual name.
func (f family) String() string {
	if f == ipv4 {
		return "IPv4"
	}
	return "IPv6"
}

// Memory is what one decision hands to the next. The zero Memory remembers
// nothing; Recover makes one from the slices.
type Memory struct {
	pools [families]pool
}

// pool is the memory of one address family.
type pool struct {
	// members are what is published, sorted by address.
	members []member
	// candidates are those of the newest read, sorted by address.
	candidates []candidate
	// recovered says that some members came from the slices at start.
	recovered bool
	// proven says that a probe of this process has passed. Before that, a
	// prober that sees only failures has proved nothing but itself.
	proven bool
	// failOpen says that FailOpen is engaged.
	failOpen bool
	// suspects counts suspect reads in a row, scheduled ones only.
	suspects int
	// cause and why say why the newest read is suspect, if it is; message says
	// how far it is from being believed as well.
	cause        Cause
	why, message string
}

// candidate is a candidate of the newest read.
type candidate struct {
	inventory.Candidate
	// movedAt is when a read found that another node has the address now; what
	// was sent before says nothing of this one. Zero if it never moved.
	movedAt time.Time
}

// standing is where a member stands with the reads.
type standing uint8

const (
	// unread: recovered from a slice, and no read has come since.
	unread standing = iota
	// present: the newest read lists it, and not as leaving.
	present
	// leaving: announced to go, or gone, by a read that is believed.
	leaving
	// held: the same by a suspect read; what that would take away waits.
	held
)

// member is one published address and what is known of it beyond the slice.
type member struct {
	inventory.Member
	// node holds the address; unknown for a recovered member before a read.
	node     inventory.Identity
	standing standing
	// announced says that the node was reported as leaving, not just missing.
	announced bool
	// missed counts the scheduled suspect reads in a row that would take it.
	missed int
	// settled says that missed reached the threshold: its leaving is believed
	// for good and no longer makes further reads suspect.
	settled bool
	// leaveAt is when leaving began.
	leaveAt time.Time
	// movedAt is when another node took over the address; zero when a result
	// that was sent later has counted.
	movedAt time.Time
	// forgiven is how many failures of the running streak do not count,
	// because they were seen while nothing or nobody could be believed.
	forgiven int
	// silenced is when silence took the member down; zero if it did not.
	silenced time.Time
	// since is when the state last changed.
	since time.Time
}

// Recover makes the first memory from the members that the slices publish, so
// that a restart changes nothing (contract 28). An address that stands in two
// slices counts once, with the better state.
func Recover(members []inventory.Member, now time.Time) Memory {
	var memory Memory
	for _, m := range members {
		if m.State != inventory.Absent {
			p := &memory.pools[familyOf(m.Address)]
			p.members = append(p.members, member{Member: m, since: now})
			p.recovered = true
		}
	}
	for i := range memory.pools {
		p := &memory.pools[i]
		slices.SortFunc(p.members, func(a, b member) int {
			return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.State, b.State))
		})
		p.members = slices.CompactFunc(p.members, func(a, b member) bool { return a.Address == b.Address })
	}
	return memory
}

// Since returns when the state of a member last changed.
func (m Memory) Since(addr netip.Addr) (time.Time, bool) {
	p := m.pools[familyOf(addr)]
	if i, ok := p.find(addr); ok {
		return p.members[i].since, true
	}
	return time.Time{}, false
}

// SuspectReads returns how many suspect reads came in a row.
func (m Memory) SuspectReads() int {
	most := 0
	for _, p := range m.pools {
		most = max(most, p.suspects)
	}
	return most
}

// find returns the index of the member with that address.
func (p pool) find(addr netip.Addr) (int, bool) {
	return slices.BinarySearchFunc(p.members, addr, func(m member, addr netip.Addr) int {
		return m.Address.Compare(addr)
	})
}

// holder returns which node had the address last, and since when if it moved.
// Addresses are asked for in their order.
func (w *walk) holder(addr netip.Addr) (inventory.Identity, time.Time) {
	if m := w.member(addr); m != nil {
		return m.node, m.movedAt
	}
	if c := w.candidate(addr); c != nil {
		return c.Node, c.movedAt
	}
	return inventory.Identity{}, time.Time{}
}

// walk looks up one address after the other in a pool. Each may come again, but
// none that is before it: so a walk costs no more than reading the pool once.
type walk struct {
	members    []member
	candidates []candidate
}

func (p pool) walk() *walk { return &walk{p.members, p.candidates} }

// member returns the member with that address, or nil.
func (w *walk) member(addr netip.Addr) *member {
	for len(w.members) > 0 && w.members[0].Address.Less(addr) {
		w.members = w.members[1:]
	}
	if len(w.members) == 0 || w.members[0].Address != addr {
		return nil
	}
	return &w.members[0]
}

// candidate returns the newest read's candidate with that address, or nil.
func (w *walk) candidate(addr netip.Addr) *candidate {
	for len(w.candidates) > 0 && w.candidates[0].Address.Less(addr) {
		w.candidates = w.candidates[1:]
	}
	if len(w.candidates) == 0 || w.candidates[0].Address != addr {
		return nil
	}
	return &w.candidates[0]
}
