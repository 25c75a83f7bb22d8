package plan

import (
	"cmp"
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
		return state.Slices, problem
	}
	var desired []Slice
	for _, family := range []Family{IPv4, IPv6} {
		p := packer{target: target, family: family, blocked: problem.Kind != ""}
		packed := p.pack(ofFamily(members, family), state)
		for i := range packed {
			packed[i].Owner = state.Service.UID
			if !p.blocked {
				packed[i].Ports = ports
			}
		}
		desired = append(desired, packed...)
	}
	return desired, problem
}

// ofFamily returns the members of one family, sorted by address.
func ofFamily(members []inventory.Member, family Family) []inventory.Member {
	of := make([]inventory.Member, 0, len(members))
	for _, m := range members {
		if FamilyOf(m.Address) == family {
			of = append(of, m)
		}
	}
	if !slices.IsSortedFunc(of, inventory.CompareMembers) {
		slices.SortFunc(of, inventory.CompareMembers)
	}
	return of
}

// Diff returns the writes that make current what desired says, in an order in
// which no address that moves is ever in no slice: what gains comes before what
// loses. It is empty when nothing differs.
func Diff(current, desired []Slice) []Write {
	var writes []Write
	for _, want := range desired {
		i := slices.IndexFunc(current, func(s Slice) bool { return s.Name == want.Name })
		if i < 0 {
			if len(want.Endpoints) > 0 {
				writes = append(writes, newWrite(Create, Slice{}, want))
			}
			continue
		}
		if have := current[i]; have.Drift != "" || !same(have, want) {
			want.Version = have.Version
			writes = append(writes, newWrite(Update, have, want))
		}
	}
	slices.SortStableFunc(writes, func(a, b Write) int {
		return cmp.Compare(rank(a), rank(b))
	})
	orderMoves(writes)
	return writes
}

// same reports whether two slices publish the same.
func same(a, b Slice) bool {
	return a.Owner == b.Owner && slices.Equal(a.Ports, b.Ports) && slices.Equal(a.Endpoints, b.Endpoints)
}

// rank puts the writes that add addresses before those that do not.
func rank(w Write) int {
	if len(w.Added) > 0 {
		return 0
	}
	return 1
}

// newWrite makes the write that turns have into want.
func newWrite(operation Operation, have, want Slice) Write {
	w := Write{Operation: operation, Slice: want}
	w.Slice.Drift = ""
	before := make(map[netip.Addr]inventory.Member, len(have.Endpoints))
	for _, m := range have.Endpoints {
		before[m.Address] = m
	}
	for _, m := range want.Endpoints {
		old, ok := before[m.Address]
		switch {
		case !ok:
			w.Added = append(w.Added, m.Address)
		case old != m:
			w.Changed = append(w.Changed, m.Address)
		}
		delete(before, m.Address)
	}
	for addr := range before {
		w.Removed = append(w.Removed, addr)
	}
	slices.SortFunc(w.Removed, netip.Addr.Compare)
	return w
}

// orderMoves notes, for every write that takes an address away which another
// one adds, that the other has to succeed first.
func orderMoves(writes []Write) {
	gains := make(map[netip.Addr]string)
	for _, w := range writes {
		for _, addr := range w.Added {
			gains[addr] = w.Slice.Name
		}
	}
	for i, w := range writes {
		for _, addr := range w.Removed {
			if name, moved := gains[addr]; moved && !slices.Contains(w.After, name) {
				writes[i].After = append(writes[i].After, name)
			}
		}
		slices.Sort(writes[i].After)
	}
}
