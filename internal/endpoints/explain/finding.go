package explain

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Finding is the last word on one node or address, and since when it has been
// the same.
type Finding struct {
	inventory.Decision
	// State is what the verdict gives the address. A node that did not come as
	// far as the guard is absent, even if another node publishes its address.
	State inventory.State
	// Since is when the state or the reason last changed, as far as this process
	// knows.
	Since time.Time
}

const (
	// Remembered is how long a node that was removed is still shown as Gone.
	Remembered = 10 * time.Minute
	// MaxGone is how many addresses of such nodes are shown at most, the newest.
	MaxGone = 100
)

// undecided is the message of an address while its inventory waits.
const undecided = "listed by an inventory that counts as soon as the published endpoints have been checked once"

// Findings returns the last word on everything that the newest inventory lists or
// the slices publish, and of before what was removed a short while ago, sorted by
// node and address. What is as it was before keeps its time; judged is when the
// verdict was made. Of each node, the first that applies holds:
//
//	what the guard says of its addresses, or that an inventory waits
//	that it was announced to leave and is no longer published
//	the first reason why it is not eligible
//	that it is gone
func Findings(before []Finding, filtered []inventory.Decision, verdict guard.Verdict, judged, now time.Time) []Finding {
	s := &summary{
		before: before, members: verdict.Members, judged: judged, now: now,
		all: make([]Finding, 0, max(len(filtered), len(verdict.Decisions))),
	}
	for decided := named(filtered, verdict.Decisions); len(filtered) > 0 || len(decided) > 0; {
		first := decided
		if len(decided) == 0 || len(filtered) > 0 && inventory.CompareDecisions(filtered[0], decided[0]) < 0 {
			first = filtered
		}
		subject := SubjectOf(first[0])
		var listed, judged []inventory.Decision
		listed, filtered = cut(filtered, subject)
		judged, decided = cut(decided, subject)
		s.add(listed, judged)
	}
	s.carry(s.all)
	if gone := s.remembered(); len(gone) > 0 {
		s.all = append(s.all, gone...)
		slices.SortFunc(s.all, comparePlace)
	}
	return s.all
}

// summary gathers findings.
type summary struct {
	before      []Finding
	members     []inventory.Member
	judged, now time.Time
	// all is of what is there, departed of what is not, both sorted by node.
	all, departed []Finding
}

// add adds what holds of one subject, of which the filter and the guard said this.
func (s *summary) add(filtered, decided []inventory.Decision) {
	start := len(s.all)
	for _, d := range decided {
		if d.Reason != "" && d.Reason != inventory.Gone {
			s.all = append(s.all, Finding{Decision: d, State: inventory.StateOf(s.members, d.Address), Since: s.now})
		}
	}
	for _, d := range filtered {
		if d.Reason == "" && !about(decided, d.Address) {
			d.Stage, d.Reason, d.Message = inventory.StageGuard, inventory.ProbePending, undecided
			s.all = append(s.all, Finding{Decision: d, Since: s.now})
		}
	}
	slices.SortFunc(s.all[start:], comparePlace)
	if len(s.all) == start {
		s.addUnpublished(filtered, decided)
	}
	if len(s.all) == start {
		s.addGone(decided)
	}
}

// addUnpublished adds why a node of the inventory has nothing published.
func (s *summary) addUnpublished(filtered, decided []inventory.Decision) {
	start := len(s.all)
	for _, d := range decided {
		if d.Reason == inventory.Gone && about(filtered, d.Address) {
			s.all = append(s.all, Finding{Decision: d, Since: s.now})
		}
	}
	i := slices.IndexFunc(filtered, func(d inventory.Decision) bool { return d.Reason != "" })
	if i >= 0 && len(s.all) == start {
		s.all = append(s.all, Finding{Decision: filtered[i], Since: s.now})
	}
}

// addGone adds what is in no inventory and no slice any more. A verdict that is
// shown again brings back nothing that was forgotten since.
func (s *summary) addGone(decided []inventory.Decision) {
	for _, d := range decided {
		if _, shown := find(s.before, d.Node, d.Address); d.Reason == inventory.Gone && (shown || s.judged.Equal(s.now)) {
			s.departed = append(s.departed, Finding{Decision: d, Since: s.now})
		}
	}
}

// remembered returns the newest of what is gone, without what is there
// again under a name that was not known, or with an id that was not.
func (s *summary) remembered() []Finding {
	gone := s.departed
	for _, f := range s.before {
		if _, again := find(s.departed, f.Node, f.Address); f.Reason == inventory.Gone && !again {
			gone = append(gone, f)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	s.carry(gone)
	back := make(map[netip.Addr]bool)
	for _, f := range s.all {
		back[f.Address] = true
	}
	gone = slices.DeleteFunc(gone, func(f Finding) bool {
		from, to := placesOf(s.all, f.Node.Name)
		named := slices.ContainsFunc(s.all[from:to], func(there Finding) bool { return f.Node.ID == "" || f.Node.ID == there.Node.ID })
		return s.now.Sub(f.Since) >= Remembered || f.Node.Known() && named || !f.Node.Known() && back[f.Address]
	})
	slices.SortStableFunc(gone, func(a, b Finding) int { return b.Since.Compare(a.Since) })
	return gone[:min(len(gone), MaxGone)]
}

// carry keeps Since of findings that are as they were before, also of a node whose
// name or id was not known then.
func (s *summary) carry(after []Finding) {
	for i := range after {
		f := &after[i]
		for _, node := range []inventory.Identity{f.Node, {Name: f.Node.Name}, {}} {
			was, ok := find(s.before, node, f.Address)
			if ok && was.State == f.State && was.Reason == f.Reason {
				f.Since = was.Since
			}
			if ok {
				break
			}
		}
	}
}
