package guard

import (
	"iter"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Work is what of one address family works in a pool.
type Work uint8

// The kinds of work, weakest first.
const (
	// NothingWorks: no endpoint is known to work.
	NothingWorks Work = iota
	// LeavingWorks: only endpoints that leave do.
	LeavingWorks
	// ReadyWorks: an endpoint that is ready does, by checks of this process.
	ReadyWorks
)

// WorkByFamily is what works in a pool, or in several. Families are apart, as their
// clients are: an IPv4 endpoint is of no use to a client of the IPv6 slices.
type WorkByFamily struct{ IPv4, IPv6 Work }

// And returns what works in both together.
func (w WorkByFamily) And(other WorkByFamily) WorkByFamily {
	return WorkByFamily{IPv4: max(w.IPv4, other.IPv4), IPv6: max(w.IPv6, other.IPv6)}
}

// of returns what works of one family.
func (w WorkByFamily) of(f family) Work {
	if f == ipv4 {
		return w.IPv4
	}
	return w.IPv6
}

// Working returns what works in the pool. A pool that fails open has nothing.
func (v *Verdict) Working() WorkByFamily {
	return WorkByFamily{IPv4: v.parts[ipv4].works, IPv6: v.parts[ipv6].works}
}

// Published returns what one target publishes of the pool, sorted by address.
//
// others is what works in the other pools of the target. Failing open counts over
// the whole target: while something there works, endpoints that fail are down here.
//
//	in the others         failing open   leaving ones ready
//	nothing works         applies        applies
//	only leaving ones do  no             applies
//	something ready does  no             no
//
// own are the endpoints of the pool that the slices of the target published when the
// program started, sorted by address. One that no check of this process has judged
// stays as it was there, absence included, even where it is better in another target.
// One that no inventory of this process has listed stays in the targets whose slices had
// it, unless nothing else is ready: slices of one team make no endpoint of another.
//
// With no others, and with the members that the pool started from as own, these are
// Members.
func (v *Verdict) Published(others WorkByFamily, own []inventory.Member) []inventory.Member {
	if v.parts[ipv4].details == nil && v.parts[ipv6].details == nil {
		return v.Members
	}
	members := make([]inventory.Member, 0, len(v.Members))
	for f := range v.parts {
		members = append(members, v.parts[f].published(others.of(family(f)), own)...)
	}
	if slices.Equal(members, v.Members) {
		return v.Members // many targets share it
	}
	return members
}

// Settled reports whether all targets with the same others publish the same: nothing
// depends on what their slices published when the program started.
func (v *Verdict) Settled() bool {
	for f := range v.parts {
		for i := range v.parts[f].details {
			if d := &v.parts[f].details[i]; d.alone.basis != judged || d.evident.basis != judged || d.stranger {
				return false
			}
		}
	}
	return true
}

// Checked reports whether every endpoint was checked.
func (v *Verdict) Checked() bool { return !v.parts[ipv4].unchecked && !v.parts[ipv6].unchecked }

// Passing returns the endpoints that stay and pass their checks, sorted. Where nothing works there
// are none.
func (v *Verdict) Passing() iter.Seq[netip.Addr] { return v.proven(passes) }

// Serving returns the endpoints that stay and are ready for what is known of them, sorted: those that
// pass, and those that may. What is ready for want of anything better is not among them.
func (v *Verdict) Serving() iter.Seq[netip.Addr] { return v.proven(serves) }

func (v *Verdict) proven(least proof) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for f := range v.parts {
			for i, is := range v.parts[f].proofs {
				if is >= least && !yield(v.parts[f].members[i].Address) {
					return
				}
			}
		}
	}
}

// MayReplace reports whether the group can take over a target at all: everything was
// checked, and something works.
func (v *Verdict) MayReplace() bool {
	return v.Checked() && max(v.parts[ipv4].works, v.parts[ipv6].works) == ReadyWorks
}

// part is what targets need to know of one family.
type part struct {
	// unchecked says that an address had no check yet.
	unchecked bool
	works     Work
	// yields is what must work elsewhere for the states by evidence to apply.
	yields Work
	// unproven says that all checks fail and none has passed since the start.
	unproven bool
	// members are those of Members; details say more of each, nil where there is nothing
	// to say. proofs say of each how sure it is that it serves.
	members []inventory.Member
	details []detail
	proofs  []proof
}

// proof is how sure it is that an endpoint serves.
type proof uint8

const (
	unproved proof = iota
	// serves: it is ready, and nothing says that it does not work.
	serves
	// passes: it is ready, and its checks pass.
	passes
)

// detail is what is known of one member.
type detail struct {
	// alone is its state where nothing else works, evident the one by evidence.
	alone, evident opinion
	// stranger says that only slices speak for it.
	stranger bool
}

// opinion is a state, and how much a target may hold on to its own.
type opinion struct {
	state inventory.State
	basis basis
}

// basis is what a state is based on.
type basis uint8

const (
	// judged: on checks of this process.
	judged basis = iota
	// unsettled: on too few failures to judge it.
	unsettled
	// untried: on no check at all.
	untried
)

// newPart sums up what targets need to know.
func newPart(rows []row, w *world, members []inventory.Member) part {
	p := part{members: members, yields: LeavingWorks, unproven: w.nonePassed}
	p.works, p.proofs = working(rows, w), make([]proof, 0, len(members))
	for i := range rows {
		if r := &rows[i]; r.next != inventory.Absent {
			p.proofs = append(p.proofs, r.proof(w))
		}
	}
	if w.readyDraining {
		p.yields = ReadyWorks
	}
	p.unchecked = some(rows, func(r *row) bool {
		return r.neverProbed(w) && r.streak.Trouble == "" && !r.was.forbidden && r.watched()
	})
	if some(rows, func(r *row) bool {
		return r.next != inventory.Absent && (r.evident != r.next && !r.accepted || r.was.basis != judged || r.stranger())
	}) {
		p.details = details(rows, w, len(members))
	}
	return p
}

// working says what works. What is published ready for want of anything better does not.
func working(rows []row, w *world) Work {
	works := NothingWorks
	for i := range rows {
		switch r := &rows[i]; {
		case r.next != inventory.StateReady || !r.works(w):
		case r.drains:
			works = max(works, LeavingWorks)
		case r.evident == inventory.StateReady:
			works = ReadyWorks
		}
	}
	return works
}

// works reports whether checks say that the address works.
func (r *row) works(w *world) bool {
	return !w.failOpen && !w.nonePassed && (r.condition == passing || r.condition == belowFall && r.hasPassed(w))
}

func (r *row) proof(w *world) proof {
	switch {
	case r.next != inventory.StateReady || r.evident != inventory.StateReady || r.drains || w.failOpen:
		return unproved
	case r.works(w) && r.was.standing != unplaced: // a check passes there that is not its Pod's
		return passes
	}
	return serves
}

// details returns what is known of each member.
func details(rows []row, w *world, members int) []detail {
	sure := *w
	sure.failOpen, sure.mayDemote = false, true
	all := make([]detail, 0, members)
	for i := range rows {
		r := &rows[i]
		if r.next == inventory.Absent {
			continue
		}
		d := detail{opinion{r.next, r.basis(w)}, opinion{r.evident, r.byEvidence().basis(&sure)}, r.stranger()}
		if r.accepted {
			d.evident = d.alone
		}
		all = append(all, d)
	}
	return all
}

// basis returns what the state of the address is based on. A state that a failure has
// changed once stays unsettled, also where the address has another node since, of
// which nothing is known.
func (r *row) basis(w *world) basis {
	switch {
	case r.was.basis == judged, r.hasPassed(w), r.condition == failing, w.failOpen && r.stays():
		return judged
	case r.was.basis == unsettled, !r.untried(w):
		return unsettled
	}
	return untried
}

// published returns what one target publishes of the family.
func (p *part) published(others Work, own []inventory.Member) []inventory.Member {
	if p.details == nil {
		return p.members
	}
	alone := others < p.yields
	members, best := p.ofTarget(alone, false, own)
	if best != inventory.StateReady {
		members, best = p.ofTarget(alone, true, own)
	}
	if p.unproven && alone && best != inventory.StateReady && best != inventory.StateDraining {
		return p.members
	}
	return members
}

// ofTarget returns the members in the states that a target gives them, and the best of
// these. Without strangers, those are left out that the target did not publish itself.
func (p *part) ofTarget(alone, strangers bool, own []inventory.Member) (members []inventory.Member, best inventory.State) {
	members = make([]inventory.Member, 0, len(p.details))
	for i, m := range p.members {
		d := &p.details[i]
		is, was := d.evident, inventory.StateOf(own, m.Address)
		if alone {
			is = d.alone
		}
		state := is.heldTo(was)
		if state == inventory.Absent || d.stranger && was == inventory.Absent && !strangers {
			continue
		}
		if best == inventory.Absent || state < best {
			best = state
		}
		m.State = state
		members = append(members, m)
	}
	return members, best
}

// heldTo returns the state in a target whose slices published the address so. The
// pool starts from the best state that any target publishes.
//
//	what the state is based on  the slices had it  the state
//	checks                      in any state       is as decided
//	less                        not at all         is absent
//	a few failures              draining           is as decided
//	less, otherwise             in another state   is the worse of both
func (o opinion) heldTo(own inventory.State) inventory.State {
	switch {
	case own == inventory.Absent && o.basis != judged:
		return inventory.Absent
	case o.state == inventory.Absent, o.basis == judged, o.basis == unsettled && own == inventory.StateDraining:
		return o.state
	}
	return max(o.state, own) // worse states are higher
}
