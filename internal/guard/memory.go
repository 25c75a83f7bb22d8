package guard

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// families is how many pools there are: IPv4 and IPv6.
const families = 2

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
	candidates []inventory.Candidate
	// recovered says that some members came from the slices at start.
	recovered bool
	// proven says that a probe of this process has passed. Before that, a
	// prober that sees only failures has proved nothing but itself.
	proven bool
	// failOpen says that FailOpen is engaged.
	failOpen bool
	// suspects counts suspect reads in a row, scheduled ones only.
	suspects int
	// cause and message say why the newest read is suspect, if it is.
	cause   Cause
	message string
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
	// movedAt is when another node took over the address; zero when a probe
	// has passed since.
	movedAt time.Time
	// forgiven is how many failures of the running streak do not count,
	// because they were seen while nothing or nobody could be believed.
	forgiven int
	// silenced is when silence took the member down.
	silenced time.Time
	// since is when the state last changed.
	since time.Time
}

// Recover makes the first memory from the members that the slices publish, so
// that a restart changes nothing (contract 28).
func Recover(members []inventory.Member, now time.Time) Memory {
	var memory Memory
	for _, m := range members {
		p := &memory.pools[familyOf(m.Address)]
		p.members = append(p.members, member{Member: m, since: now})
		p.recovered = true
	}
	for i := range memory.pools {
		slices.SortFunc(memory.pools[i].members, func(a, b member) int {
			return inventory.CompareMembers(a.Member, b.Member)
		})
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

// candidate returns the newest read's candidate with that address.
func (p pool) candidate(addr netip.Addr) (inventory.Candidate, bool) {
	i, ok := slices.BinarySearchFunc(p.candidates, addr, func(c inventory.Candidate, addr netip.Addr) int {
		return c.Address.Compare(addr)
	})
	if !ok {
		return inventory.Candidate{}, false
	}
	return p.candidates[i], true
}

// familyOf returns the index of the pool that an address belongs to.
func familyOf(addr netip.Addr) int {
	if addr.Is4() {
		return 0
	}
	return 1
}
