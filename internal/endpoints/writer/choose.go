package writer

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// offer is what is known of one pool of a target.
type offer struct {
	phase Phase
	// verdict is the newest, nil before the first.
	verdict *guard.Verdict
	// own are the endpoints that the slices of the target published when the group of the
	// pool began to judge. slices are those that clients can use now: of a Service that
	// has their ports, and that owns them.
	own    []inventory.Member
	slices []publish.Slice
}

// offered returns what is known of one fill.
func (l *loop) offered(f *fill) offer {
	o := offer{phase: f.Phase, verdict: l.verdicts[f.Pool]}
	if f.machine != nil {
		o.own, o.slices = f.machine.start.own, f.machine.useful()
	}
	return o
}

// useful returns the slices that clients of the Service can use: those that it owns, also where it
// cannot be filled as the target says, as long as they have one of its ports.
func (m *machine) useful() []publish.Slice {
	service, fits := m.state.Service, m.outcome.Problem.Kind == ""
	return slices.DeleteFunc(slices.Clone(m.state.Slices), func(s publish.Slice) bool {
		return s.Owner != service.UID || !fits && !s.HasPortOf(service)
	})
}

// choose returns what the slices of one of the pools publish, nil where that pool
// decided nothing yet. Failing open counts over the whole target: while an endpoint
// of another pool works, endpoints that fail are down here.
func choose(offers []offer, which int) *decision {
	o := offers[which]
	if o.phase == Emptied {
		return &decision{checked: true}
	}
	if o.verdict == nil {
		return nil
	}
	var others guard.WorkByFamily
	for i := range offers {
		if i != which {
			others = others.And(offers[i].working())
		}
	}
	members := o.verdict.Published(others, o.had())
	dies := false
	if o.phase == Draining {
		dies = slices.ContainsFunc(members, func(m inventory.Member) bool { return o.loses(m, offers) })
		members = draining(members, offers)
	}
	return &decision{members: members, checked: o.verdict.MayReplace(), dies: dies}
}

// loses reports whether slices that drain serve an endpoint that is down, and no others have it.
func (o *offer) loses(m inventory.Member, offers []offer) bool {
	return m.State == inventory.StateDown && served(o.slices, m.Address) && !slices.ContainsFunc(offers, func(other offer) bool { return other.has(m.Address) })
}

// had returns the endpoints that the slices of the target published when the group began to
// judge, and those that they got since: what a target was given is not taken away because an
// inventory that is rejected lists something else.
func (o *offer) had() []inventory.Member {
	if o.verdict.Settled() {
		return o.own
	}
	all := slices.Clone(o.own)
	for _, s := range o.slices {
		for _, m := range s.Endpoints {
			if inventory.StateOf(o.own, m.Address) == inventory.Absent {
				all = append(all, m)
			}
		}
	}
	return publish.Published(publish.State{Slices: []publish.Slice{{Endpoints: all}}})
}

// draining returns the endpoints that drain: those that pass, without those that slices of
// another pool publish as ready. An address that is in two slices has to be in one state:
// which of two counts is not defined.
func draining(members []inventory.Member, offers []offer) []inventory.Member {
	var out []inventory.Member
	for _, m := range members {
		if m.State != inventory.StateDown && !slices.ContainsFunc(offers, func(o offer) bool { return o.has(m.Address) }) {
			m.State = inventory.StateDraining
			out = append(out, m)
		}
	}
	return out
}

// has reports whether slices that stay have an address as ready.
func (o *offer) has(addr netip.Addr) bool {
	return o.phase == Serving && slices.ContainsFunc(o.slices, func(s publish.Slice) bool { return s.StateOf(addr) == inventory.StateReady })
}

// working returns what works in the pool and is stored in its slices. Without a verdict it
// is as the slices say.
func (o *offer) working() guard.WorkByFamily {
	if o.phase == Emptied {
		return guard.WorkByFamily{}
	}
	decided := guard.WorkByFamily{IPv4: guard.ReadyWorks, IPv6: guard.ReadyWorks}
	if o.verdict != nil {
		decided = o.verdict.Working()
	}
	var works guard.WorkByFamily
	for _, s := range o.slices {
		if s.Family == publish.IPv4 {
			works.IPv4 = max(works.IPv4, min(decided.IPv4, o.stored(s)))
		} else {
			works.IPv6 = max(works.IPv6, min(decided.IPv6, o.stored(s)))
		}
	}
	return works
}

// stored returns the best that a slice has of what was decided to be of use.
func (o *offer) stored(s publish.Slice) guard.Work {
	best := guard.NothingWorks
	for _, m := range s.Endpoints {
		decided := inventory.StateReady
		if o.verdict != nil {
			decided = inventory.StateOf(o.verdict.Members, m.Address)
		}
		switch {
		case decided == inventory.Absent:
		case max(m.State, decided) == inventory.StateReady: // worse states are higher
			return guard.ReadyWorks
		case max(m.State, decided) == inventory.StateDraining:
			best = guard.LeavingWorks
		}
	}
	return best
}

// Merge takes in a load that was asked for when so many requests had ended (Ended).
// It returns the slices as they are known to be afterwards, what came of writes of
// unknown outcome, and whether slices take part again that did not before. Slices
// that the load could not read stay as they are known.
//
//	the slice's last request   what holds
//	is in flight               what was known: the load may be older or newer
//	ended since the load was asked for
//	                           what was known: the load may be older
//	otherwise                  what the load says
func (o *Outbox) Merge(known []publish.Slice, loaded publish.State, ended int) (merged []publish.Slice, results []Result, resolved bool) {
	merged = slices.Clone(loaded.Slices)
	for _, name := range loaded.Unread {
		merged = keep(merged, known, name)
	}
	for name, r := range o.records {
		if slices.Contains(loaded.Unread, name) {
			continue
		}
		if r.inFlight() || r.ended > ended {
			r.skip(find(loaded.Slices, name), find(known, name))
			merged = keep(merged, known, name)
			continue
		}
		r.skipped = false
		if !r.unread {
			continue
		}
		resolved = true
		if result := r.read(find(merged, name)); result != nil {
			results = append(results, *result)
		}
	}
	slices.SortFunc(merged, publish.CompareSlices)
	slices.SortFunc(results, bySent)
	o.known = merged
	return merged, results, resolved
}

// GiveUp returns the results of writes whose outcome no load could show, so that
// they are reported; their slices still take no part until they were read.
func (o *Outbox) GiveUp() []Result {
	var results []Result
	for _, r := range o.records {
		if r.failed != nil {
			results = append(results, *r.failed)
			r.failed = nil
		}
	}
	slices.SortFunc(results, bySent)
	return results
}

// Landed returns the slices with a successful write in them.
func Landed(known []publish.Slice, result Result) []publish.Slice {
	slice := result.Write.Slice
	slice.Version, slice.Changed = result.Version, result.Write.Trigger
	after := put(slices.Clone(known), slice)
	slices.SortFunc(after, publish.CompareSlices)
	return after
}

// keep makes merged say of one slice what known says.
func keep(merged, known []publish.Slice, name string) []publish.Slice {
	merged = slices.DeleteFunc(merged, func(s publish.Slice) bool { return s.Name == name })
	if i := slices.IndexFunc(known, func(s publish.Slice) bool { return s.Name == name }); i >= 0 {
		merged = append(merged, known[i])
	}
	return merged
}

// bySent orders results by the time of their requests, those of one moment by slice.
func bySent(a, b Result) int {
	return cmp.Or(a.Sent.Compare(b.Sent), cmp.Compare(a.Write.Slice.Name, b.Write.Slice.Name))
}
