package guard

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// apart is what evidence says of a member that is published otherwise, because
// nothing else of its pool works.
type apart struct {
	// state is what the checks say. Absent: it never passed.
	state inventory.State
	// uncounted and silenced are those of member, for this state.
	uncounted int
	silenced  time.Time
}

// weigh decides the state of each address by evidence: what the contract's table
// says where something else is sure to work, so that neither failing open nor the
// doubt about a prober that has not passed yet applies.
func weigh(rows []row, w *world) {
	sure := *w
	sure.mayDemote, sure.open = true, false
	for i := range rows {
		r := &rows[i]
		r.evident = r.next
		if w.mayDemote && r.was.apart == nil {
			continue
		}
		was, shadow := *r.was, *r
		if was.apart != nil {
			was.State, was.uncounted, was.silenced = was.apart.state, was.apart.uncounted, was.apart.silenced
		}
		shadow.was = &was
		shadow.condition = shadow.assess(&sure)
		r.evident, r.shadow = shadow.weighed(&sure), &shadow
	}
}

// weighed is decide, for an address that may be a member only because its pool
// fails open.
func (r *row) weighed(sure *world) inventory.State {
	if !r.isMember() && r.was.standing == leaving {
		return inventory.Absent
	}
	return r.decide(sure)
}

// byEvidence returns the row that the state by evidence was decided on.
func (r *row) byEvidence() *row {
	if r.shadow != nil {
		return r.shadow
	}
	return r
}

// rememberApart returns what evidence says of an address that is published, nil
// where that is what the member says.
func (r *row) rememberApart(w *world, m *member) *apart {
	if r.accepted {
		return nil
	}
	s := r.byEvidence()
	next := apart{state: r.evident, uncounted: s.uncounted()}
	if s.condition == uncounted {
		next.uncounted = r.streak.Fails
	}
	if next.state == r.next && next.uncounted == m.uncounted {
		return nil
	}
	next.silenced = s.silencedBy(r.evident, s.was.State, s.was.silenced, w)
	if r.was.apart != nil && *r.was.apart == next {
		return r.was.apart
	}
	changed := next
	return &changed
}

// hasPassed reports whether a check of this process has passed.
func (r *row) hasPassed(w *world) bool {
	return w.policy.HealthOff || r.streak.Passes > 0 || r.streak.Turns > 0
}
