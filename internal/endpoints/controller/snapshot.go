package controller

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// Snapshot is what runs, and what each part of it last came to. Its values are shared
// with the loops and must not be changed.
type Snapshot struct {
	// At is when the plan was made, zero before the first.
	At        time.Time
	Plan      assign.Plan
	Documents documents.Set
	// Services are those that the watches tell of, sorted by namespace and name.
	Services []assign.Service
	// Pools, Groups and Targets are those of the plan, in its order.
	Pools   []Pool
	Groups  []Group
	Targets []ServiceState
	// Unread is why there is no plan: what is published cannot be read. It is nil where there
	// is one, and where that is not known.
	Unread error
}

// Pool is how one pool is read.
type Pool struct {
	Name string
	// Problem is why it cannot be read as its document says; empty where it can.
	Problem string
	// Warnings are those of the source.
	Warnings []string
}

// Group is what one group decided.
type Group struct {
	assign.Group
	// Problem is why it cannot check as the documents say; empty where it can.
	Problem string
	// State is nil where it has decided nothing yet.
	State *GroupState
}

// GroupState is what an event of a group came to.
type GroupState struct {
	pool.Outcome
	// ModeSince is when the mode was entered, Findings the last word on every node and
	// address, Reads are the newest reads, newest first.
	ModeSince time.Time
	Findings  func() []explain.Finding
	Reads     []explain.Cycle
}

// readErr is why the source could not be read last, or where the Pods of the remote Service are.
func (s *GroupState) readErr() error { return cmp.Or(s.Source.LastErr, s.Placed.LastErr) }

// ServiceState is what became of one Service.
type ServiceState struct {
	// Problem is why it is not filled at all; empty where it is.
	Problem string
	// Fills has one for each use of the plan; it is empty where nothing runs yet.
	Fills []Fill
}

// Fill is what one pool gives the Service.
type Fill struct {
	Target publish.Target
	// State is nil where nothing came of it yet.
	State *FillState
}

// FillState is what an event of the slices of one pool in one Service came to.
type FillState struct {
	State             publish.State
	Problem           publish.Problem
	LoadErr, WriteErr error
	// Pending is how many slices differ from what was decided, and PendingSince when that
	// began.
	Pending      int
	PendingSince time.Time
	// LastWrite is when a write succeeded last, zero if none has.
	LastWrite time.Time
	// Defect is why the target is not handled for now, nil if it is.
	Defect *writer.Defect
	// Writes are the newest changes, newest first.
	Writes []explain.Cycle
}

// mostWrites is how many changes of one Service and pool are remembered where documents say
// what is filled: those of 1,000 Services are memory too.
const mostWrites = 5

// snapshot is what runs by the newest plan. It is not changed any more; what its parts come
// to is looked up when somebody asks.
type snapshot struct {
	at        time.Time
	plan      assign.Plan
	documents documents.Set
	services  []assign.Service
	pools     []*poolReader
	groups    []*group
	keys      []assign.Group
	targets   []*filler
}

// show notes what runs by a plan.
func (s *Server) show(in assign.Input, plan assign.Plan) {
	now := &snapshot{at: in.Now, plan: plan, documents: s.teller.set, services: in.Services, keys: plan.Groups()}
	for i := range plan.Pools {
		now.pools = append(now.pools, s.pools.running[plan.Pools[i].Name])
	}
	for _, key := range now.keys {
		now.groups = append(now.groups, s.groups.running[key])
	}
	for _, each := range plan.Targets {
		now.targets = append(now.targets, s.targets.running[each.Key])
	}
	s.shown.Store(now)
	s.teller.revision.Add(1)
}

// Revision is another one after the Snapshot changed, but for the times and results of the
// newest checks. Each pass counts as a change, so it grows at least every 30 seconds.
func (s *Server) Revision() uint64 { return s.teller.revision.Load() }

// Snapshot returns what runs and what came of it. It takes time in proportion to the
// number of pools, groups and targets, and none to that of their endpoints.
func (s *Server) Snapshot() *Snapshot {
	now := s.shown.Load()
	if now == nil {
		return &Snapshot{Unread: s.unread()}
	}
	out := &Snapshot{
		At: now.at, Plan: now.plan, Documents: now.documents, Services: now.services,
		Pools: make([]Pool, len(now.pools)), Groups: make([]Group, len(now.groups)), Targets: make([]ServiceState, len(now.targets)),
	}
	said := s.teller.troubles()
	for i, r := range now.pools {
		name := now.plan.Pools[i].Name
		out.Pools[i] = Pool{Name: name, Problem: said[subject{kind: "pool", name: name}]}
		if r != nil {
			out.Pools[i].Warnings = r.source.warnings()
		}
	}
	for i, g := range now.groups {
		out.Groups[i] = Group{Group: now.keys[i]}
		if len(said) > 0 {
			out.Groups[i].Problem = said[subject{kind: "group", name: name(now.keys[i])}]
		}
		if g != nil {
			out.Groups[i].State = g.seen.Load()
		}
	}
	for i, f := range now.targets {
		key := now.plan.Targets[i].Key
		out.Targets[i].Problem = said[subject{"service", key.Namespace, key.Service, ""}]
		if f != nil {
			out.Targets[i].Fills = f.look()
		}
	}
	return out
}

// unread is why what is published cannot be read, nil where it can or is not known.
func (s *Server) unread() error {
	for _, sight := range s.opts.Hub.Local().Sights {
		if sight.Err != nil {
			return sight.Err
		}
	}
	return nil
}

// look returns what the fills of a Service came to.
func (f *filler) look() []Fill {
	fills := make([]Fill, len(f.fills))
	for i := range f.fills {
		fills[i] = Fill{Target: f.fills[i].of, State: f.seen[i].Load()}
	}
	return fills
}

// now is what the last event of the group came to, the zero value before the first.
func (g *group) now() GroupState {
	if seen := g.seen.Load(); seen != nil {
		return *seen
	}
	return GroupState{}
}

// see notes what an event of a group came to.
func (g *group) see(o pool.Outcome, memory explain.Pool, story explain.Story) {
	next := &GroupState{Outcome: o, ModeSince: memory.ModeSince, Findings: sync.OnceValue(memory.Findings), Reads: g.now().Reads}
	next.Read = nil
	if story.Cycle != nil {
		next.Reads = explain.Prepend(next.Reads, *story.Cycle)
	}
	g.seen.Store(next)
}

// see notes what an event of a Service came to, for the fill that has its slices.
func (f *filler) see(o writer.Outcome, story explain.Story, most int) {
	i := f.at(o.SliceName)
	if i < 0 {
		return
	}
	var next FillState
	if before := f.seen[i].Load(); before != nil {
		next = *before
	} else if f.states != nil {
		next.State = *f.states[i]
	}
	if next.Defect = o.Defect; o.Defect == nil {
		if next.Pending == 0 {
			next.PendingSince = o.At
		}
		if o.LoadErr == nil || o.State.Slices != nil { // else they were not read again since a defect
			next.State = o.State
		}
		next.Problem, next.LoadErr, next.WriteErr, next.Pending = o.Problem, o.LoadErr, o.WriteErr, o.Pending
	}
	if slices.ContainsFunc(o.Results, func(r writer.Result) bool { return r.Err == nil }) {
		next.LastWrite = o.At
	}
	if story.Cycle != nil {
		writes := explain.Prepend(next.Writes, *story.Cycle)
		next.Writes = slices.Clone(writes[:min(len(writes), most)])
	}
	f.seen[i].Store(&next)
}

// troubles returns what was last said to be wrong with pools, groups and targets.
func (t *teller) troubles() map[subject]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[subject]string)
	for of, text := range t.said {
		switch of.kind {
		case "pool", "group", "service":
			all[of] = text
		}
	}
	return all
}

// Observe is told what runs, and what comes of it. The functions are called from the loops
// and must not block; each may be nil.
type Observe struct {
	// Planned gets each plan, after what it says runs, and the documents that it was made
	// of.
	Planned func(set documents.Set, plan *assign.Plan)
	// Read gets each attempt to read the source of a pool.
	Read func(pool string, r pool.Attempt)
	// OfGroup and OfTarget return what gets the outcomes of a group or a target that
	// begins, those of a group with what was told of them.
	OfGroup  func(key assign.Group) func(pool.Outcome, explain.Pool)
	OfTarget func(key assign.Key, dryRun bool) func(writer.Outcome)
}

// Fill sets functions that are nil.
func (o *Observe) Fill() {
	if o.Planned == nil {
		o.Planned = func(documents.Set, *assign.Plan) {}
	}
	if o.Read == nil {
		o.Read = func(string, pool.Attempt) {}
	}
	if o.OfGroup == nil {
		o.OfGroup = func(assign.Group) func(pool.Outcome, explain.Pool) { return func(pool.Outcome, explain.Pool) {} }
	}
	if o.OfTarget == nil {
		o.OfTarget = func(assign.Key, bool) func(writer.Outcome) { return func(writer.Outcome) {} }
	}
}
