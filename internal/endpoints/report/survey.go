package report

import (
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// Process is what is known of a process that fills Services.
type Process struct {
	Now      time.Time
	Snapshot *controller.Snapshot
	// StoreKind is the value of STORE_KIND.
	StoreKind string
	// Leader says that this process reads, checks and writes.
	Leader   bool
	Election Election
	DryRun   bool
	Version  string
	Started  time.Time
	// Only is the Service of the variables, where these say which is filled.
	Only assign.Key
	// StatusError says of which objects in the API server the status is not written, and
	// why; empty for none.
	StatusError string
}

// survey is what the answers to one request have in common. What groups decided is summed
// up once, for all their targets.
type survey struct {
	Process
	pools  map[string]*surveyedPool
	groups map[assign.Group]*surveyedGroup
	// nothing is the status where nothing is known yet; it is shared.
	nothing *Status
}

// surveyedPool is a pool, its groups, and how many targets use it.
type surveyedPool struct {
	document *v1alpha1.EndpointPool
	controller.Pool
	groups  []*surveyedGroup
	targets int
}

// surveyedGroup is a group, and what it decided.
type surveyedGroup struct {
	controller.Group
	targets int
	// names is how messages about it name settings.
	names naming.Names
	// decided is what it decided, summed up when that is needed first; it is shared. choices are
	// what targets publish of it, by what works in their other pools.
	decided *choice
	choices map[guard.WorkByFamily]*choice
}

func (m Process) survey() *survey {
	s := &survey{Process: m, pools: make(map[string]*surveyedPool), groups: make(map[assign.Group]*surveyedGroup), nothing: &Status{}}
	plan := &m.Snapshot.Plan
	for i := range plan.Pools {
		s.pools[plan.Pools[i].Name] = &surveyedPool{document: &plan.Pools[i], Pool: m.Snapshot.Pools[i]}
	}
	names := plan.GroupNames()
	for _, g := range m.Snapshot.Groups {
		seen := &surveyedGroup{Group: g, names: names[g.Group]}
		s.groups[g.Group] = seen
		if p := s.pools[g.Pool]; p != nil {
			p.groups = append(p.groups, seen)
		}
	}
	for i := range plan.Targets {
		for _, u := range plan.Targets[i].Uses {
			if u.State == assign.Emptied {
				continue
			}
			if p := s.pools[u.Pool]; p != nil {
				p.targets++
			}
			if g := s.groups[u.Group]; g != nil {
				g.targets++
			}
		}
	}
	return s
}

// sum returns what the group decided, summed up. One that does not run has decided nothing.
func (g *surveyedGroup) sum() *choice {
	switch {
	case g.State == nil:
		return &choice{}
	case g.decided != nil:
		return g.decided
	}
	o := &g.State.Outcome
	status := Status{
		Verdict: *o.Verdict, ModeSince: g.State.ModeSince, Health: o.Health, Source: o.Source,
		Findings: g.State.Findings(), Cycles: g.State.Reads,
	}
	if o.Decided {
		status.At = o.At
	}
	g.decided, g.choices = g.choiceOf(status), make(map[guard.WorkByFamily]*choice)
	return g.decided
}

// choiceOf sums a status of the group up.
func (g *surveyedGroup) choiceOf(status Status) *choice {
	c := &choice{status, stagesOf(&status), countFindings(status.Findings, status.Health)}
	if g.Check.Mode == v1alpha1.HealthCheckNone { // then every eligible address counts as passing
		c.stages.Passing = c.stages.Eligible
	}
	return c
}

// facts are those that every document has.
func (s *survey) facts() Facts { return Facts{Process: s.Process, Status: s.nothing} }

// of completes facts with what is known of the pool and the group of a use.
func (s *survey) of(f Facts, g assign.Group) Facts {
	if p := s.pools[g.Pool]; p != nil {
		f.SourceKind, f.Warnings = sourceKind(p.document), slices.Clone(p.Warnings)
		if p.Problem != "" {
			f.Warnings = append(f.Warnings, "the pool cannot be read as its document says, so the former document stays in use: "+p.Problem)
		}
	}
	if seen := s.groups[g]; seen != nil && seen.Problem != "" {
		f.Warnings = append(f.Warnings, "the endpoints cannot be checked as the documents say, so the former check stays in use: "+seen.Problem)
	}
	f.Remote = s.remote(g)
	if problem := f.Remote.problem(); problem != "" {
		f.Warnings = append(f.Warnings, problem)
	}
	return f
}

// remote is what a group knows of the remote Service that it follows, nil where it follows none.
func (s *survey) remote(g assign.Group) *RemoteService {
	if g.Remote == (inventory.RemoteService{}) {
		return nil
	}
	r := &RemoteService{Namespace: g.Remote.Namespace, Name: g.Remote.Name}
	if seen := s.groups[g]; seen != nil && seen.State != nil {
		placed, told := seen.State.Placed, explain.Placement(&seen.State.Outcome)
		if r.EveryNode = placed.EveryNode; placed.Newest != nil {
			r.Nodes = len(placed.Newest.Ready)
		}
		r.Reason, r.Message, r.Since = string(told.Reason), told.Message, stamp(told.Since)
	}
	return r
}

// sourceKind is the value of SOURCE_KIND that does the same, empty where no source is set.
func sourceKind(pool *v1alpha1.EndpointPool) string {
	from := pool.Spec.Source
	for kind, is := range map[string]bool{
		"static": from.Static != nil, "file": from.File != nil, "command": from.Command != nil, "ionos": from.IONOS != nil, "kubernetes": from.Kubernetes != nil,
	} {
		if is {
			return kind
		}
	}
	return ""
}

// statusOf joins what a group decided with what came of it in the slices of one Service.
func statusOf(group Status, fill *controller.FillState) *Status {
	s := group
	if fill == nil {
		s.At = time.Time{} // nothing came of it yet
		return &s
	}
	s.State, s.Problem = fill.State, fill.Problem
	s.Store = StoreStatus{LastWrite: fill.LastWrite, LoadErr: fill.LoadErr, WriteErr: fill.WriteErr, Pending: fill.Pending}
	if fill.Defect != nil {
		s.Store.WriteErr = fill.Defect
	}
	s.Cycles = slices.Concat(s.Cycles, fill.Writes)
	return &s
}

// published reports how many of the stages' endpoints get traffic, and how many are
// published.
func (s Stages) published() (ready, total int) { return s.Ready, s.Ready + s.Draining + s.Down }

// and adds the endpoints of another pool.
func (s Stages) and(other Stages) Stages {
	return Stages{
		Nodes: s.Nodes + other.Nodes, Eligible: s.Eligible + other.Eligible, Passing: s.Passing + other.Passing,
		Unchecked: s.Unchecked + other.Unchecked, Ready: s.Ready + other.Ready, Draining: s.Draining + other.Draining, Down: s.Down + other.Down,
	}
}
