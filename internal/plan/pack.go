package plan

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// packer distributes the members of one family over slices with the fewest
// written endpoints (contract 18):
//
//  1. A member stays in the slice it is in.
//  2. Where more than 2*ceil(N/max) slices hold endpoints, the emptiest are
//     emptied, as many as that bound needs.
//  3. Additions go into slices that are written anyway, but into one that became
//     empty only while the bound allows it;
//  4. else into the one slice with the fewest endpoints that has room for all;
//  5. else into an empty or new slice while the bound allows it;
//  6. else into the emptiest slices that have room.
//
// The packing ideas are upstream's (k8s.io/endpointslice), the bound is ours:
// upstream's slices only ever become more.
type packer struct {
	target  Target
	family  Family
	blocked bool
	bins    []*bin
	// wanted is how many endpoints there are to hold.
	wanted int
}

// bin is one slice on its way to what it should be.
type bin struct {
	number int
	have   Slice
	keep   []inventory.Member
	exists bool
	// touched says that the slice is written anyway.
	touched bool
	// closed says that the slice takes no additions.
	closed bool
}

// pack returns the slices that hold members, which are sorted; slices that are
// left empty stay in the answer.
func (p *packer) pack(members []inventory.Member, state State) []Slice {
	p.wanted = len(members)
	additions := p.keepInPlace(members, state.Slices)
	additions = append(additions, p.compact()...)
	p.place(additions, p.taken(state.Refused))
	slices.SortFunc(p.bins, func(a, b *bin) int { return cmp.Compare(a.number, b.number) })
	packed := make([]Slice, 0, len(p.bins))
	for _, b := range p.bins {
		s := b.have
		s.Name, s.Family = p.target.NameOf(p.family, b.number), p.family
		slices.SortFunc(b.keep, inventory.CompareMembers)
		s.Endpoints = b.keep
		packed = append(packed, s)
	}
	return packed
}

// keepInPlace makes a bin of every slice, leaves in it the endpoints that are
// still wanted, and returns the members that no slice holds yet.
func (p *packer) keepInPlace(members []inventory.Member, current []Slice) []inventory.Member {
	wanted := make(map[netip.Addr]int, len(members))
	for i, m := range members {
		wanted[m.Address] = i
	}
	placed := make([]bool, len(members))
	for _, s := range current {
		family, number, ok := p.target.ParseName(s.Name)
		if !ok || family != p.family {
			continue
		}
		b := &bin{number: number, have: s, exists: true, touched: s.Drift != ""}
		b.keep = make([]inventory.Member, 0, len(s.Endpoints))
		for _, old := range s.Endpoints {
			i, ok := wanted[old.Address]
			if !ok || placed[i] || len(b.keep) == p.target.MaxEndpoints {
				b.touched = true
				continue
			}
			placed[i] = true
			b.touched = b.touched || members[i] != old
			b.keep = append(b.keep, members[i])
		}
		p.bins = append(p.bins, b)
	}
	var additions []inventory.Member
	for i, m := range members {
		if !placed[i] {
			additions = append(additions, m)
		}
	}
	return additions
}

// bound is how many slices may hold endpoints.
func (p *packer) bound() int {
	return 2 * ((p.wanted + p.target.MaxEndpoints - 1) / p.target.MaxEndpoints)
}

// holding counts the bins that hold endpoints.
func (p *packer) holding() int {
	n := 0
	for _, b := range p.bins {
		if len(b.keep) > 0 {
			n++
		}
	}
	return n
}

// compact empties the emptiest bins until the bound holds, and returns what was
// in them.
func (p *packer) compact() []inventory.Member {
	surplus := p.holding() - p.bound()
	if surplus <= 0 {
		return nil
	}
	emptiest := slices.Clone(p.bins)
	slices.SortFunc(emptiest, func(a, b *bin) int {
		return cmp.Or(cmp.Compare(len(a.keep), len(b.keep)), -cmp.Compare(a.number, b.number))
	})
	var moved []inventory.Member
	for _, b := range emptiest {
		if surplus == 0 {
			break
		}
		if len(b.keep) > 0 {
			moved = append(moved, b.keep...)
			b.keep, b.touched, b.closed = nil, true, true
			surplus--
		}
	}
	return moved
}

// place puts the additions where they cost the fewest written endpoints.
func (p *packer) place(additions []inventory.Member, taken map[int]bool) {
	slices.SortFunc(additions, inventory.CompareMembers)
	additions = p.fill(additions, p.roomy(func(b *bin) bool { return b.touched && len(b.keep) > 0 }, fullestFirst))
	if len(additions) == 0 {
		return
	}
	emptied := p.roomy(func(b *bin) bool { return b.touched && len(b.keep) == 0 }, byNumber)
	untouched := p.roomy(func(b *bin) bool { return !b.touched && len(b.keep) > 0 }, emptiestFirst)
	fresh := (len(additions) + p.target.MaxEndpoints - 1) / p.target.MaxEndpoints
	switch fits := p.holding()+fresh <= p.bound(); {
	case fits && len(emptied) > 0:
		additions = p.fill(additions, emptied)
	case len(untouched) > 0 && p.room(untouched[0]) >= len(additions):
		additions = p.fill(additions, untouched[:1])
	case !fits:
		additions = p.fill(additions, untouched)
	}
	p.open(additions, taken)
}

// open puts additions into empty slices, then into new ones of free numbers.
func (p *packer) open(additions []inventory.Member, taken map[int]bool) {
	additions = p.fill(additions, p.roomy(func(b *bin) bool { return len(b.keep) == 0 }, byNumber))
	for number := 1; len(additions) > 0 && !p.blocked; number++ {
		if taken[number] {
			continue
		}
		b := &bin{number: number, touched: true}
		p.bins = append(p.bins, b)
		additions = p.fill(additions, []*bin{b})
	}
}

// taken returns the numbers that no new slice may have: those of our slices and
// those of slices that are not ours.
func (p *packer) taken(refused []Refusal) map[int]bool {
	taken := make(map[int]bool, len(p.bins)+len(refused))
	for _, b := range p.bins {
		taken[b.number] = true
	}
	for _, r := range refused {
		if family, number, ok := p.target.ParseName(r.Name); ok && family == p.family {
			taken[number] = true
		}
	}
	return taken
}

// room is how many endpoints the bin can still take.
func (p *packer) room(b *bin) int { return p.target.MaxEndpoints - len(b.keep) }

// roomy returns the bins with room that want accepts, in the given order.
func (p *packer) roomy(want func(*bin) bool, order func(a, b *bin) int) []*bin {
	var bins []*bin
	for _, b := range p.bins {
		if !b.closed && p.room(b) > 0 && want(b) {
			bins = append(bins, b)
		}
	}
	slices.SortFunc(bins, order)
	return bins
}

// fill puts as many additions into the bins as they have room for, and returns
// the rest.
func (p *packer) fill(additions []inventory.Member, bins []*bin) []inventory.Member {
	for _, b := range bins {
		n := min(p.room(b), len(additions))
		if n > 0 {
			b.keep, b.touched = append(b.keep, additions[:n]...), true
		}
		additions = additions[n:]
	}
	return additions
}

// The orders in which bins are filled.
func fullestFirst(a, b *bin) int {
	return cmp.Or(-cmp.Compare(len(a.keep), len(b.keep)), byNumber(a, b))
}

func emptiestFirst(a, b *bin) int {
	return cmp.Or(cmp.Compare(len(a.keep), len(b.keep)), byNumber(a, b))
}

func byNumber(a, b *bin) int { return cmp.Compare(a.number, b.number) }
