package guard

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
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
func (f family) String() string { return [...]string{"IPv4", "IPv6"}[f] }

// Memory is what one decision hands to the next. The zero Memory remembers
// nothing; Recover makes one from the slices.
type Memory struct {
	pools [families]pool
}

// pool is the memory of one address family.
type pool struct {
	// members are what is published, sorted by address. A member is shared by the
	// memories in which it is the same, and never written again.
	members []*member
	// candidates are those of the newest inventory, sorted by address, and shared
	// as members are.
	candidates []*candidate
	// placing is what is remembered of placements, the same for all families.
	placing placementMemory
	// recovered says that some members came from the slices at start.
	recovered bool
	// proven says that a probe of this process has passed. Before that, failures
	// may be the prober's own.
	proven bool
	// failOpen says that FailOpen is engaged.
	failOpen bool
	// readyDraining says that draining members are published ready, and
	// drainingShown that it lasts and is shown as a mode.
	readyDraining, drainingShown bool
	// nothingSince is when nothing that works was ready any more; zero while
	// something is.
	nothingSince time.Time
	// rejected counts rejected inventories in a row, scheduled ones only.
	rejected int
	// cause and why say why the newest inventory is rejected, if it is.
	cause Cause
	why   string
}

// candidate is a candidate of the newest inventory.
type candidate struct {
	inventory.Candidate
	// movedAt is when an inventory found that another node has the address now;
	// what was sent before says nothing of this one. Zero if it never moved.
	movedAt time.Time
	// newly says that a rejected inventory was the first to list it.
	newly bool
	// podless says that the newest placement has no ready Pod on the node, and placedAt when
	// one named the node that none had named before. It is zero where none is followed.
	podless  bool
	placedAt time.Time
}

// standing is where a member stands with the inventories.
type standing uint8

const (
	// unread: recovered from a slice, and no inventory has come since.
	unread standing = iota
	// present: the newest inventory lists it, and not as leaving.
	present
	// leaving: announced to go, or gone, and that is accepted.
	leaving
	// kept: the same by a rejected inventory; what that would take away waits.
	kept
	// unplaced: no ready Pod of the remote Service is on the node.
	unplaced
)

// member is one published address and what is known of it beyond the slice.
type member struct {
	inventory.Member
	standing standing
	// announced says that the node was reported as leaving, or that its Pods end: it was not
	// just left out.
	announced bool
	// foreign says that node has the address, is not eligible, and is another
	// one than the address was published for.
	foreign bool
	// newly says that a rejected inventory was the first to list it.
	newly bool
	// wasServing says of a kept member that it was ready or draining when it was
	// last listed, so that the inventories which leave it out stay rejected when
	// it goes down.
	wasServing bool
	// pastThreshold says that missed reached the threshold: its absence no longer
	// makes inventories rejected.
	pastThreshold bool
	// everPassed says that it has passed a health check of this process, or came from
	// a slice: not just published because everything failed.
	everPassed bool
	// forbidden says that it came from a slice and may not be checked any more, so
	// that no health check will ever speak for it or against it.
	forbidden bool
	// unconfirmed says that it was down in a slice at start, and no health check
	// of this process has confirmed it.
	unconfirmed bool
	// unproved says that an accepted placement did not name its node, and that it has not
	// passed since one did.
	unproved bool
	// basis is what its state is based on. One that came from a slice is untried first;
	// what is known of it only grows.
	basis basis
	// found is the state in which a slice had it at the start.
	found inventory.State
	// unlisted says that it came from a slice, and no inventory has listed it since.
	unlisted bool
	// longSilent says that it was silent for so long that it proves nothing any
	// more about the prober.
	longSilent bool
	// node holds the address; unknown for a recovered member before a read.
	node inventory.Identity
	// missed counts the scheduled rejected inventories in a row that left it
	// out, downs those of them at which it was down by failures that count.
	missed, downs int
	// removeAt is when downs reaches the threshold; zero if that is not known.
	removeAt time.Time
	// leaveAt is when leaving began, or when it stopped being published ready. Of a recovered
	// member that drains it is when that began, as far as is known.
	leaveAt time.Time
	// movedAt is when another node took over the address; zero when a result
	// that was sent later has counted.
	movedAt time.Time
	// uncounted is how many failures of the running streak do not count; turns
	// tells that streak from a later one. failedAt is when the first was sent that counts,
	// zero where none does.
	uncounted discount
	turns     int
	failedAt  time.Time
	// silenced is when silence took the member down; zero if it did not.
	silenced time.Time
	// since is when the state last changed.
	since time.Time
	// evidence is what the checks say of it, nil where that is the same.
	evidence *evidence
}

// discount are failures at the beginning of a streak that do not count, and how many of these had
// no connection: an answer to them takes no later failure away.
type discount struct{ failures, unconnected int }

// shared returns what has become of a member or a candidate: the one before where nothing has
// changed, so that what stays as it is costs nothing. There may be none before.
func shared[T comparable](before, next *T) *T {
	if before != nil && *next == *before {
		return before
	}
	changed := *next
	return &changed
}

// serves reports whether the member is used, or was when an inventory last listed it.
func (m *member) serves() bool {
	if m.standing == kept {
		return m.wasServing
	}
	return m.State.Serves() || m.unconfirmed
}

// drained reports whether the member was draining before a restart, and no inventory has told
// since what it stands for.
func (m *member) drained() bool {
	return m.standing == unread && m.found == inventory.StateDraining
}

// Recover makes the first memory from the members that the slices publish, so
// that a restart changes nothing (contract 28). An address that stands in two
// slices counts once, with the better state.
//
// past is what else is known of members: a restart does not begin a drain anew (contract 228).
// Those that are forbidden may not be checked any more, because the filter refuses their
// addresses today. What rejected inventories leave out of them goes after the threshold.
func Recover(members []inventory.Member, now time.Time, past map[netip.Addr]Past, forbidden map[netip.Addr]bool) Memory {
	var memory Memory
	for _, m := range members {
		if m.State == inventory.Absent {
			continue
		}
		was := past[m.Address]
		recovered := &member{Member: m, found: m.State, since: now, everPassed: true, basis: untried, unlisted: true, unconfirmed: m.State == inventory.StateDown, forbidden: forbidden[m.Address]}
		recovered.newly, recovered.longSilent = was.Brought, was.LongSilent
		if m.State == inventory.StateDraining && !was.Drains.IsZero() {
			recovered.leaveAt = now.Add(was.Drains.Sub(now)) // by the clock that cannot be set, from here on
		}
		p := &memory.pools[familyOf(m.Address)]
		p.members, p.recovered = append(p.members, recovered), true
	}
	for i := range memory.pools {
		p := &memory.pools[i]
		slices.SortFunc(p.members, func(a, b *member) int {
			return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.State, b.State))
		})
		p.members = slices.CompactFunc(p.members, func(a, b *member) bool { return a.Address == b.Address })
	}
	return memory
}

// Past is what is known of a member beyond its state, by the slices or by the group before.
type Past struct {
	// Drains is since when it drains; zero where that is not known.
	Drains time.Time
	// Brought says that a rejected inventory was the first to list it, and LongSilent that it
	// proves nothing any more about the prober.
	Brought, LongSilent bool
}

// Past is what a group that goes on with the members has to know of them.
func (v *Verdict) Past() map[netip.Addr]Past {
	past := make(map[netip.Addr]Past)
	for _, p := range v.Memory.pools {
		for _, m := range p.members {
			if m.State == inventory.StateDraining || m.newly || m.longSilent {
				past[m.Address] = Past{m.leaveAt, m.newly, m.longSilent}
			}
		}
	}
	return past
}

// Rejected returns how many scheduled rejected inventories came in a row.
func (m Memory) Rejected() int {
	most := 0
	for _, p := range m.pools {
		most = max(most, p.rejected)
	}
	return most
}

// RejectedFor returns why the newest inventory is rejected; empty where it is not.
func (m Memory) RejectedFor() Cause {
	for _, p := range m.pools {
		if p.cause != "" {
			return p.cause
		}
	}
	return ""
}

// member returns the member with that address, or nil.
func (p pool) member(addr netip.Addr) *member {
	i, found := slices.BinarySearchFunc(p.members, addr, func(m *member, addr netip.Addr) int { return m.Address.Compare(addr) })
	if !found {
		return nil
	}
	return p.members[i]
}

// candidate returns the newest inventory's candidate with that address, or nil.
func (p pool) candidate(addr netip.Addr) *candidate {
	i, found := slices.BinarySearchFunc(p.candidates, addr, func(c *candidate, addr netip.Addr) int { return c.Address.Compare(addr) })
	if !found {
		return nil
	}
	return p.candidates[i]
}
