package publish

import (
	"cmp"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// packer distributes the members of one family over slices with the fewest
// written endpoints (contract 18):
//
//  1. A member stays in the slice it is in; of several, in the one that
//     publishes it best, so that no write takes a copy away that works.
//  2. At most 2*ceil(N/max) slices hold endpoints. Of the slices that are written
//     anyway the emptiest are emptied, as many as the bound needs; where they are
//     too few, the emptiest of the others are written as well.
//  3. Additions go into slices that are written anyway, the fullest first;
//  4. else into the emptiest slice, if it has room for all;
//  5. else into empty slices, then into new ones.
//
// The ideas are those of k8s.io/endpointslice, whose slices only ever become more;
// the bound is ours.
type packer struct {
	target  Target
	family  Family
	service Service
	ports   []Port
	// blocked says that no slice may be made and that ports means nothing.
	blocked bool
	// bins are sorted by number; new ones come last.
	bins []*bin
}

// bin is one slice on its way to what it should be.
type bin struct {
	number     int
	have, want Slice
	// stay is how many endpoints stay in it, kept are these.
	stay int
	kept excerpt
	// touched says that the slice is written anyway.
	touched bool
}

// pack returns the slices that hold members, which are sorted; slices that are
// left empty stay in the answer.
func (p *packer) pack(members []inventory.Member, state State) []Slice {
	additions := p.keep(members, state.Slices)
	additions = p.place(additions, len(members))
	if !p.blocked {
		p.create(additions, state.Refused)
	}
	slices.SortFunc(p.bins, byNumber)
	packed := make([]Slice, len(p.bins))
	for i, b := range p.bins {
		b.want.Endpoints = byAddress(b.want.Endpoints)
		packed[i] = b.want
	}
	return packed
}

// keep makes a bin of every slice, leaves in it the endpoints that stay there, and
// returns the members that no slice holds.
func (p *packer) keep(members []inventory.Member, current []Slice) []inventory.Member {
	for _, s := range current {
		if family, number, ok := p.target.ParseName(s.Name); ok && family == p.family {
			p.bins = append(p.bins, &bin{number: number, have: s, want: s})
		}
	}
	slices.SortFunc(p.bins, byNumber)
	placements := p.placements(members)
	for _, b := range p.bins {
		b.kept.of, b.kept.all = b.have.Endpoints, members
	}
	var additions []inventory.Member
	for i, m := range members {
		if b := placements[i]; b != nil {
			b.kept.add(i)
		} else {
			additions = append(additions, m)
		}
	}
	for _, b := range p.bins {
		b.want.Endpoints = b.kept.members()
		b.want.Owner, b.want.PublishNotReady, b.want.Drift = p.service.UID, p.service.PublishNotReady, ""
		if !p.blocked {
			b.want.Ports = p.ports
		}
		b.touched = !b.have.Same(b.want)
	}
	return additions
}

// placements returns for each member the bin that it stays in, nil for none: of its
// copies the one in the best state that has room. A slice that holds more than it
// may gives up those in the worst state, but gives up none while there may be no
// slice to take it.
func (p *packer) placements(members []inventory.Member) []*bin {
	placements := make([]*bin, len(members))
	for _, state := range []inventory.State{inventory.StateReady, inventory.StateDraining, inventory.StateDown} {
		for _, b := range p.bins {
			at := cursor{members: members}
			for _, copied := range b.have.Endpoints {
				if copied.State != state {
					continue
				}
				m, wanted := at.seek(copied)
				if wanted && placements[m] == nil && (p.blocked || b.stay < p.target.MaxEndpoints) {
					placements[m] = b
					b.stay++
				}
			}
		}
	}
	return placements
}

// place puts the additions into the bins, and returns those that need new ones.
// There are wanted endpoints in all.
func (p *packer) place(additions []inventory.Member, wanted int) []inventory.Member {
	untouched, most := p.join(wanted)
	written := p.choose(func(b *bin) bool { return b.touched && b.size() > 0 }, fullestFirst)
	for _, b := range written[min(most, len(written)):] {
		additions = append(additions, b.want.Endpoints...)
		b.want.Endpoints = nil // and stays so: the others have room for all
	}
	additions = p.fill(additions, written)
	additions = p.fill(additions, p.choose(func(b *bin) bool { return b.touched && b.size() == 0 }, byNumber))
	if len(untouched) > 0 && p.room(untouched[0]) >= len(additions) {
		additions = p.fill(additions, untouched[:1])
	}
	return p.fill(additions, p.choose(func(b *bin) bool { return b.size() == 0 }, byNumber))
}

// join touches the emptiest slices that the bound needs. It returns those that
// hold endpoints and need not be written, the emptiest first, and how many of
// the others may hold endpoints.
func (p *packer) join(wanted int) (untouched []*bin, most int) {
	most = 2 * p.slicesFor(wanted)
	if p.blocked {
		most = min(most, len(p.bins))
	}
	untouched = p.choose(func(b *bin) bool { return !b.touched && b.size() > 0 }, emptiestFirst)
	for _, b := range untouched {
		wanted -= b.size()
	}
	for len(untouched) > 0 && len(untouched)+p.slicesFor(wanted) > most {
		untouched[0].touched = true
		wanted += untouched[0].size()
		untouched = untouched[1:]
	}
	return untouched, most - len(untouched)
}

// create puts additions into new slices of free numbers: those that neither our
// slices have nor those of our names that are not ours to touch.
func (p *packer) create(additions []inventory.Member, refused []Refusal) {
	taken := make(map[int]bool)
	for _, b := range p.bins {
		taken[b.number] = true
	}
	for _, r := range refused {
		if family, number, ok := p.target.ParseName(r.Name); ok && family == p.family {
			taken[number] = true
		}
	}
	for number := 1; len(additions) > 0; number++ {
		if taken[number] {
			continue
		}
		b := &bin{number: number, want: Slice{
			Name: p.target.NameOf(p.family, number), Family: p.family, Ports: p.ports,
			Owner: p.service.UID, PublishNotReady: p.service.PublishNotReady,
		}}
		p.bins = append(p.bins, b)
		additions = p.fill(additions, []*bin{b})
	}
}

// fill puts as many additions into the bins as they have room for, and returns
// the rest.
func (p *packer) fill(additions []inventory.Member, bins []*bin) []inventory.Member {
	for _, b := range bins {
		if n := min(p.room(b), len(additions)); n > 0 {
			b.want.Endpoints, b.touched = append(b.want.Endpoints, additions[:n]...), true
			additions = additions[n:]
		}
	}
	return additions
}

// choose returns the bins that want accepts, in the given order.
func (p *packer) choose(want func(*bin) bool, order func(a, b *bin) int) []*bin {
	bins := slices.DeleteFunc(slices.Clone(p.bins), func(b *bin) bool { return !want(b) })
	slices.SortFunc(bins, order)
	return bins
}

// slicesFor is how many slices n endpoints need at least.
func (p *packer) slicesFor(n int) int {
	return (n + p.target.MaxEndpoints - 1) / p.target.MaxEndpoints
}

// room is how many endpoints the bin can still take.
func (p *packer) room(b *bin) int { return p.target.MaxEndpoints - b.size() }

// size is how many endpoints the bin holds.
func (b *bin) size() int { return len(b.want.Endpoints) }

// The orders in which bins are filled.
func fullestFirst(a, b *bin) int  { return cmp.Or(cmp.Compare(b.size(), a.size()), byNumber(a, b)) }
func emptiestFirst(a, b *bin) int { return cmp.Or(cmp.Compare(a.size(), b.size()), byNumber(a, b)) }
func byNumber(a, b *bin) int      { return cmp.Compare(a.number, b.number) }
