package plan

import (
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// Desired returns the slices that publish members, and what about the Service
// stands in the way, if anything does. While something does, no slice is made;
// those that exist keep their ports and are still kept right, unless the Service
// is gone: then they are left as they are (contract 25).
func Desired(members []inventory.Member, state State, target Target) ([]Slice, Problem) {
	ports, problem := resolvePorts(state.Service, target)
	if problem.Kind.gone() {
		return slices.Clone(state.Slices), problem
	}
	members = byAddress(members)
	second := slices.IndexFunc(members, func(m inventory.Member) bool { return FamilyOf(m.Address) == IPv6 })
	if second < 0 {
		second = len(members)
	}
	pack := func(family Family, members []inventory.Member) []Slice {
		p := packer{target: target, family: family, owner: state.Service.UID, ports: ports, blocked: problem.Kind != ""}
		return p.pack(members, state)
	}
	return append(pack(IPv4, members[:second]), pack(IPv6, members[second:])...), problem
}

// Diff returns the writes that make current what desired says. What gains comes
// before what loses, so that no address that Desired moves to another slice is
// ever in none, and nothing that becomes ready waits for what ceases to be. It is
// empty when nothing differs.
func Diff(current, desired []Slice) []Write {
	at := make(map[string]int, len(current))
	for i, have := range current {
		at[have.Name] = i
	}
	var gaining, losing []Write
	var reviving []revival
	for _, want := range desired {
		i, exists := at[want.Name]
		var w Write
		switch {
		case !exists:
			w = newWrite(Create, Slice{}, want)
		case same(current[i], want):
			continue
		default:
			w = newWrite(Update, current[i], want)
		}
		if len(w.Added) > 0 {
			gaining = append(gaining, w)
			continue
		}
		if addrs := revived(current[i], w); len(addrs) > 0 {
			reviving = append(reviving, revival{w, addrs})
			continue
		}
		losing = append(losing, w)
	}
	return order(gaining, reviving, losing)
}

// revival is a write that adds nothing, and the addresses that it makes ready.
type revival struct {
	Write
	revived []netip.Addr
}

// revived returns the addresses that the slice publishes otherwise and that the
// write makes ready.
func revived(have Slice, w Write) []netip.Addr {
	var ready []netip.Addr
	for _, addr := range w.Changed {
		if stateIn(w.Slice, addr) == inventory.StateReady && stateIn(have, addr) != inventory.StateReady {
			ready = append(ready, addr)
		}
	}
	return ready
}

// stateIn returns the state that the slice gives an address.
func stateIn(s Slice, addr netip.Addr) inventory.State {
	for _, m := range s.Endpoints {
		if m.Address == addr {
			return m.State
		}
	}
	return inventory.Absent
}

// same reports whether two slices publish the same in the same form.
func same(a, b Slice) bool {
	return a.Owner == b.Owner && a.Drift == b.Drift && slices.Equal(a.Ports, b.Ports) && slices.Equal(a.Endpoints, b.Endpoints)
}

// newWrite makes the write that turns have into want.
func newWrite(operation Operation, have, want Slice) Write {
	w := Write{Operation: operation, Slice: want}
	w.Slice.Version = have.Version
	before, after := byAddress(have.Endpoints), byAddress(want.Endpoints)
	was, is := cursor{members: before}, cursor{members: after}
	for _, m := range after {
		switch i, found := was.seek(m); {
		case !found:
			w.Added = append(w.Added, m.Address)
		case before[i] != m:
			w.Changed = append(w.Changed, m.Address)
		}
	}
	for _, m := range before {
		if _, found := is.seek(m); !found {
			w.Removed = append(w.Removed, m.Address)
		}
	}
	return w
}

// order returns all writes, first those that add, then those that make ready, and
// notes for every write but the first kind which others have to succeed before,
// because it removes an address that they add or make ready.
//
// What adds never waits, so that no two writes wait for each other for ever. It
// need not: Desired adds nothing to a slice that an address moves from, and an
// address that an adding slice loses was a duplicate of one in no worse a state.
func order(gaining []Write, reviving []revival, losing []Write) []Write {
	holder := make(map[netip.Addr]string)
	for _, r := range reviving {
		for _, addr := range r.revived {
			holder[addr] = r.Slice.Name
		}
	}
	for _, w := range gaining {
		for _, addr := range w.Added {
			holder[addr] = w.Slice.Name
		}
	}
	ordered := gaining
	for _, r := range reviving {
		ordered = append(ordered, r.Write)
	}
	ordered = append(ordered, losing...)
	for i := len(gaining); i < len(ordered); i++ {
		w := &ordered[i]
		for _, addr := range w.Removed {
			if name, ok := holder[addr]; ok && name != w.Slice.Name && !slices.Contains(w.After, name) {
				w.After = append(w.After, name)
			}
		}
		slices.Sort(w.After)
	}
	return ordered
}
