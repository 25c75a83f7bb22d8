package publish

import (
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Desired returns the slices that publish members, and why the Service cannot be
// filled, if so. Then no slice is made; those that exist keep their ports and are
// still kept right, unless the Service is gone: then they are left as they are
// (contract 25).
func Desired(members []inventory.Member, state State, target Target) ([]Slice, Problem) {
	ports, problem := ResolvePorts(state.Service, target)
	if problem.Kind.gone() {
		return slices.Clone(state.Slices), problem
	}
	members = byAddress(members)
	second := slices.IndexFunc(members, func(m inventory.Member) bool { return FamilyOf(m.Address) == IPv6 })
	if second < 0 {
		second = len(members)
	}
	pack := func(family Family, members []inventory.Member) []Slice {
		p := packer{target: target, family: family, service: state.Service, ports: ports, blocked: problem.Kind != ""}
		return p.pack(members, state)
	}
	return append(pack(IPv4, members[:second]), pack(IPv6, members[second:])...), problem
}

// Diff returns the writes that make current what desired says, empty when nothing
// differs. Gains come before losses: an address that moves to another slice is
// always in one, and what becomes ready does not wait.
func Diff(current, desired []Slice) []Write {
	at := make(map[string]int, len(current))
	for i, have := range current {
		at[have.Name] = i
	}
	var gaining, readying, losing []change
	for _, want := range desired {
		c := change{Write: Write{Operation: Create, Slice: want}}
		if i, exists := at[want.Name]; exists {
			c.Operation, c.have = Update, current[i]
		}
		if c.Operation == Update && c.have.Same(want) {
			continue
		}
		c.Write = newWrite(c.Operation, c.have, want)
		c.madeReady = madeReady(c.have, c.Write)
		switch {
		case len(c.Added) > 0:
			gaining = append(gaining, c)
		case len(c.madeReady) > 0:
			readying = append(readying, c)
		default:
			losing = append(losing, c)
		}
	}
	return order(gaining, readying, losing)
}

// change is a write, the slice before it, and the addresses of that slice that it
// makes ready.
type change struct {
	Write
	have      Slice
	madeReady []netip.Addr
}

// madeReady returns the addresses that the slice publishes otherwise and that the
// write makes ready.
func madeReady(have Slice, w Write) []netip.Addr {
	var ready []netip.Addr
	for _, addr := range w.Changed {
		if w.Slice.StateOf(addr) == inventory.StateReady && have.StateOf(addr) != inventory.StateReady {
			ready = append(ready, addr)
		}
	}
	return ready
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
// notes for every write but the first kind which others have to succeed before: it
// removes an address that they add, or a copy better than the one that they make
// ready.
//
// A write that adds never waits, so no two writes wait for each other for ever. It
// need not: Desired adds nothing to a slice that an address moves from, and an
// address that an adding slice loses was a duplicate of one in no worse a state.
func order(gaining, readying, losing []change) []Write {
	type copied struct {
		slice string
		state inventory.State
	}
	holders := make(map[netip.Addr]copied)
	for _, c := range slices.Concat(gaining, readying) {
		for _, addr := range c.madeReady {
			holders[addr] = copied{c.Slice.Name, c.have.StateOf(addr)}
		}
		for _, addr := range c.Added {
			holders[addr] = copied{c.Slice.Name, inventory.Absent}
		}
	}
	var ordered []Write
	for i, c := range slices.Concat(gaining, readying, losing) {
		for _, addr := range c.Removed {
			holder, ok := holders[addr]
			waits := ok && i >= len(gaining) && (holder.state == inventory.Absent || c.have.StateOf(addr) < holder.state)
			if waits && !slices.Contains(c.After, holder.slice) {
				c.After = append(c.After, holder.slice)
			}
		}
		slices.Sort(c.After)
		ordered = append(ordered, c.Write)
	}
	return ordered
}
