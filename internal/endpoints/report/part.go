package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// UseState is what becomes of what a target takes from a pool.
type UseState string

// The states of a use.
const (
	// Active is published and checked.
	Active UseState = "active"
	// Waiting is published and checked as before, until what is wanted instead is ready.
	Waiting UseState = "waiting"
	// Leaving is published and checked until its time is over.
	Leaving UseState = "leaving"
	// Kept vanished together with too many others, and stays.
	Kept UseState = "kept"
	// Emptied is to be published without endpoints.
	Emptied UseState = "emptied"
)

// PoolUse is what a target takes from one pool.
type PoolUse struct {
	Name  string   `json:"name"`
	State UseState `json:"state"`
	// StateMessage says why the state is not Active.
	StateMessage string `json:"stateMessage"`
	// LeavesAt is when a leaving use ends, where time says so.
	LeavesAt time.Time `json:"leavesAt,omitzero"`
}

// PoolPart is one pool in the document of a target.
type PoolPart struct {
	PoolUse
	// HealthCheckBy is the kind of what says how endpoints are checked: the pool, the
	// binding, or the Service by its annotations.
	HealthCheckBy naming.Kind `json:"healthCheckBy,omitempty"`
	// PoolState is that of this pool alone. Where the pool fails open while another pool
	// of the Service works, failing open does not apply here: the mode is Publish, and
	// Message says so.
	PoolState
}

// part is what a target takes from one pool, before it is written down.
type part struct {
	use   assign.PoolUse
	facts Facts
	// group is nil where the use is emptied: then it publishes nothing, as decided.
	group *surveyedGroup
	// choice is what the target publishes of the group.
	choice *choice
}

// parts are those of one target of the plan.
func (s *survey) parts(i int) []part {
	t, runs := &s.Snapshot.Plan.Targets[i], &s.Snapshot.Targets[i]
	parts := make([]part, len(t.Uses))
	for j, u := range t.Uses {
		p := &parts[j]
		p.use, p.facts = u, s.of(s.facts(), u.Group)
		p.facts.DryRun = s.DryRun || t.DryRun
		p.facts.Target = publish.Target{Namespace: t.Namespace, Service: t.Service, Names: u.Names(t.Key)}
		if u.State != assign.Emptied {
			p.group = cmp.Or(s.groups[u.Group], &surveyedGroup{})
		}
	}
	for j := range parts {
		p, fill := &parts[j], fillOf(runs.Fills, j, t.Uses[j])
		if p.group == nil {
			p.choice = &choice{status: Status{At: s.Now}}
		} else {
			var published []publish.Slice
			if fill.State != nil {
				published = fill.State.State.Slices
			}
			p.choice = p.group.choose(others(parts, j), published)
		}
		p.facts.Status = statusOf(p.choice.status, fill.State)
	}
	return parts
}

// fillOf returns what one use of a target came to. A target whose uses have just changed
// has come to nothing yet.
func fillOf(fills []controller.Fill, j int, u assign.PoolUse) controller.Fill {
	if j < len(fills) && fills[j].Target.Pool == u.Label() {
		return fills[j]
	}
	return controller.Fill{}
}

// others returns what works in the other pools of a target.
func others(parts []part, j int) guard.WorkByFamily {
	var works guard.WorkByFamily
	for i := range parts {
		if i != j && parts[i].group != nil {
			works = works.And(parts[i].group.sum().status.Verdict.Working())
		}
	}
	return works
}

// document makes the document of the pool alone, and counts its nodes.
func (p *part) document(withNodes bool) (*Document, nodeCount) {
	d, c := frame(p.facts), p.choice.count
	d.Stages = p.choice.stages
	if withNodes {
		d.Nodes = nodesOf(p.facts.Status)
		for _, cycle := range p.facts.Status.Cycles {
			cycle.At = stamp(cycle.At)
			d.Cycles = append(d.Cycles, cycle)
		}
		d.newest()
	}
	d.judge(c)
	if p.group == nil {
		d.Condition = Healthy // that it has no endpoint is meant
	}
	d.spell(p.facts.Target.Names)
	return d, c
}

// target makes the document of one target of the plan.
func (s *survey) target(i int, withNodes bool) *Document {
	t := &s.Snapshot.Plan.Targets[i]
	var d *Document
	var c nodeCount
	var all []PoolPart
	for _, p := range s.parts(i) {
		one, count := p.document(withNodes)
		all, c = append(all, PoolPart{useOf(p.use), p.use.CheckBy, one.PoolState}), c.and(count)
		if len(t.Uses) > 1 {
			one.name(p.use.Pool)
		}
		if d == nil {
			d = one
			continue
		}
		d.join(one)
	}
	if d == nil {
		d = frame(s.facts())
		d.Service.Namespace, d.Service.Name = t.Namespace, t.Service
	}
	d.Pools = all
	d.Refusals, d.Notices = s.refusals(t.Key), s.notices(t.Key)
	if withNodes && !s.Snapshot.Documents.Variables {
		d.DecidedBy = s.decidedBy(t)
	}
	if problem := s.Snapshot.Targets[i].Problem; problem != "" {
		d.Store.LastError, d.Store.LoadError = problem, problem
	}
	d.summarise(c)
	d.judge(c)
	return d
}

// join adds the document of a further pool. The worse one gives mode, source and removal.
func (d *Document) join(other *Document) {
	if worse(other.Condition, d.Condition) < 0 {
		d.Pool, d.Condition, d.ModeState, d.Source, d.Removal = other.Pool, other.Condition, other.ModeState, other.Source, other.Removal
	}
	d.Decided = d.Decided && other.Decided
	d.Service.Slices = append(d.Service.Slices, other.Service.Slices...)
	d.Store.join(other.Store)
	d.Problem = cmp.Or(d.Problem, other.Problem)
	d.Stages = d.Stages.and(other.Stages)
	d.Nodes = append(d.Nodes, other.Nodes...)
	slices.SortStableFunc(d.Nodes, func(a, b Node) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID)) })
	d.Cycles = append(d.Cycles, other.Cycles...)
	d.newest()
}

// newest leaves the newest cycles, newest first.
func (d *Document) newest() {
	slices.SortStableFunc(d.Cycles, func(a, b Cycle) int { return b.At.Compare(a.At) })
	d.Cycles = d.Cycles[:min(len(d.Cycles), explain.MaxCycles)]
}

// name says of which pool the document is, and its nodes.
func (d *Document) name(pool string) {
	d.Pool = pool
	for i := range d.Nodes {
		d.Nodes[i].Pool = pool
	}
}

// join adds what is known of the slices of another pool.
func (s *Store) join(other Store) {
	if other.LastWrite.After(s.LastWrite) {
		s.LastWrite = other.LastWrite
	}
	s.LastError = cmp.Or(s.LastError, other.LastError)
	s.LoadError, s.WriteError = cmp.Or(s.LoadError, other.LoadError), cmp.Or(s.WriteError, other.WriteError)
	s.PendingSlices += other.PendingSlices
	s.SlicesOfOthers = append(s.SlicesOfOthers, other.SlicesOfOthers...)
	for _, beside := range other.SlicesBeside {
		if !slices.Contains(s.SlicesBeside, beside) {
			s.SlicesBeside = append(s.SlicesBeside, beside)
		}
	}
}

// useOf is a use in the words of the document.
func useOf(u assign.PoolUse) PoolUse {
	use := PoolUse{Name: u.Pool, StateMessage: u.Message, LeavesAt: stamp(u.Until)}
	switch u.State {
	case assign.Leaving, assign.Draining:
		use.State = Leaving
	case assign.Kept:
		use.State = Kept
	case assign.Emptied:
		use.State = Emptied
	case assign.Active:
		use.State = Active
		if u.Next != nil {
			use.State = Waiting
		}
	}
	return use
}
