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
	decided := named(filtered, verdict.Decisions)
	for memories := before; len(filtered) > 0 || len(decided) > 0 || len(memories) > 0; {
		subject := firstSubject(filtered, decided, memories)
		var t topic
		t.filtered, filtered = cut(filtered, subject, ofDecision)
		t.decided, decided = cut(decided, subject, ofDecision)
		t.before, memories = cut(memories, subject, ofFinding)
		s.add(t)
	}
	if gone := s.remembered(); len(gone) > 0 {
		s.all = append(s.all, gone...)
		slices.SortFunc(s.all, comparePlace)
	}
	return s.all
}

// topic is all that was said of one subject, each list sorted by address.
type topic struct {
	filtered, decided []inventory.Decision
	before            []Finding
}

// summary gathers findings.
type summary struct {
	before      []Finding
	members     []inventory.Member
	judged, now time.Time
	// all is of what is there, departed of what is not.
	all, departed []Finding
}

// add adds what holds of a topic.
func (s *summary) add(t topic) {
	start := len(s.all)
	for _, d := range t.decided {
		if d.Reason != "" && d.Reason != inventory.Gone {
			s.all = append(s.all, Finding{Decision: d, State: inventory.StateOf(s.members, d.Address), Since: s.now})
		}
	}
	for _, d := range t.filtered {
		if d.Reason == "" && !about(t.decided, d.Address) {
			d.Stage, d.Reason, d.Message = inventory.StageGuard, inventory.ProbePending, undecided
			s.all = append(s.all, Finding{Decision: d, Since: s.now})
		}
	}
	if len(s.all) == start {
		s.addUnpublished(t)
	}
	if len(s.all) == start {
		s.addGone(t)
		return
	}
	if len(s.all) > start+1 {
		slices.SortFunc(s.all[start:], comparePlace)
	}
	s.carry(s.all[start:], t.before)
}

// addUnpublished adds why a node of the inventory has nothing published.
func (s *summary) addUnpublished(t topic) {
	start := len(s.all)
	for _, d := range t.decided {
		if d.Reason == inventory.Gone && about(t.filtered, d.Address) {
			s.all = append(s.all, Finding{Decision: d, Since: s.now})
		}
	}
	i := slices.IndexFunc(t.filtered, func(d inventory.Decision) bool { return d.Reason != "" })
	if i >= 0 && len(s.all) == start {
		s.all = append(s.all, Finding{Decision: t.filtered[i], Since: s.now})
	}
}

// addGone adds what is in no inventory and no slice any more. A verdict that is
// shown again brings back nothing that was forgotten since.
func (s *summary) addGone(t topic) {
	start := len(s.departed)
	for _, d := range t.decided {
		if _, shown := find(t.before, d.Node, d.Address); d.Reason == inventory.Gone && (shown || s.judged.Equal(s.now)) {
			s.departed = append(s.departed, Finding{Decision: d, Since: s.now})
		}
	}
	for _, f := range t.before {
		if f.Reason == inventory.Gone && !about(t.decided, f.Address) {
			s.departed = append(s.departed, f)
		}
	}
	s.carry(s.departed[start:], t.before)
}

// remembered returns the newest of what is gone, without what is there
// again under a name that was not known, or with an id that was not.
func (s *summary) remembered() []Finding {
	back := make(map[netip.Addr]bool)
	if len(s.departed) > 0 {
		for _, f := range s.all {
			back[f.Address] = true
		}
	}
	gone := slices.DeleteFunc(s.departed, func(f Finding) bool {
		known := f.Node.Known()
		from, to := placesOf(s.all, f.Node.Name)
		return s.now.Sub(f.Since) >= Remembered || !known && back[f.Address] || known && f.Node.ID == "" && from < to
	})
	slices.SortStableFunc(gone, func(a, b Finding) int { return b.Since.Compare(a.Since) })
	return gone[:min(len(gone), MaxGone)]
}

// carry keeps Since of findings that are as they were before, also of a node whose
// name or id was not known then.
func (s *summary) carry(after, before []Finding) {
	for i := range after {
		f := &after[i]
		was, ok := find(before, f.Node, f.Address)
		for _, node := range []inventory.Identity{{Name: f.Node.Name}, {}} {
			if !ok && f.Address.IsValid() {
				was, ok = find(s.before, node, f.Address)
			}
		}
		if ok && was.State == f.State && was.Reason == f.Reason {
			f.Since = was.Since
		}
	}
}
