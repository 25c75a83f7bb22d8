package guard

import (
	"cmp"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// A pool in which nothing works publishes its members otherwise than the checks say: it
// fails open, or takes no failure for one before a check has passed. A target of several
// pools must not do that while another of its pools works. So each address gets a second
// state, by evidence: the one that it would have if something else were sure to work. Of a
// member that is published otherwise this second state is remembered too, with what decides
// on it the next time.

// evidence is what is remembered of a member that is published otherwise than by evidence.
type evidence struct {
	// state is the one by evidence. Absent: it never passed.
	state inventory.State
	// uncounted and silenced are those of member, for this state.
	uncounted discount
	silenced  time.Time
}

// weigh decides the state by evidence of each address. It is the published one where
// nothing is published otherwise.
func weigh(rows []row, w *world) {
	sure := *w
	sure.mayDemote, sure.open = true, false
	for i := range rows {
		r := &rows[i]
		r.evident = r.next
		if w.mayDemote && r.was.evidence == nil {
			continue
		}
		shadow := *r
		shadow.was = r.was.byEvidence()
		shadow.condition = shadow.assess(&sure)
		if shadow.isMember() || shadow.was.standing != leaving { // what leaves does not come back
			r.evident = shadow.decide(&sure)
		} else {
			r.evident = inventory.Absent
		}
		r.shadow = &shadow
	}
}

// byEvidence returns the member as it would be if it had been published by evidence.
func (m *member) byEvidence() *member {
	is := *m
	if e := m.evidence; e != nil {
		is.State, is.uncounted, is.silenced = e.state, e.uncounted, e.silenced
	}
	return &is
}

// byEvidence returns the row that the state by evidence was decided on.
func (r *row) byEvidence() *row { return cmp.Or(r.shadow, r) }

// rememberEvidence returns what is remembered of an address that is published, nil where
// the member says the same.
func (r *row) rememberEvidence(w *world, m *member) *evidence {
	if r.accepted {
		return nil
	}
	s := r.byEvidence()
	next := evidence{state: r.evident, uncounted: s.uncounted()}
	if s.condition == uncounted {
		next.uncounted = r.discounted()
	}
	if next.state == r.next && next.uncounted == m.uncounted {
		return nil
	}
	next.silenced = s.silencedBy(r.evident, s.was.State, s.was.silenced, w)
	return shared(r.was.evidence, &next)
}

// hasPassed reports whether a check of this process has passed.
func (r *row) hasPassed(w *world) bool {
	return w.policy.HealthOff || r.streak.Passes > 0 || r.streak.Turns > 0
}
