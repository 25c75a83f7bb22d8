package metrics

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/target"
)

// seen is what Metrics remembers of what it is told of pools and targets until it is scraped.
// The loops only store pointers in it: a scrape makes none of them wait. What no plan has any
// more is forgotten with the next one.
type seen struct {
	mu sync.Mutex
	// pools are those that are in use; groups and targets have said something.
	pools   map[string]*poolSeen
	groups  map[resolve.Group]*atomic.Pointer[pool.Outcome]
	targets map[resolve.Key]*targetSeen
	// unchecked are groups, and unfilled targets, that cannot begin as their documents say.
	unchecked map[resolve.Group]bool
	unfilled  map[resolve.Key]bool
	// plans counts the plans, plan is the newest, and documents are what it was made of.
	plans     uint64
	plan      *resolve.Plan
	documents documents.Set
	// sound is when the documents last were without a mistake.
	sound time.Time
}

// newSeen returns one that was told nothing yet.
func newSeen() seen {
	return seen{
		pools: make(map[string]*poolSeen), groups: make(map[resolve.Group]*atomic.Pointer[pool.Outcome]), targets: make(map[resolve.Key]*targetSeen),
		unchecked: make(map[resolve.Group]bool), unfilled: make(map[resolve.Key]bool), plan: &resolve.Plan{},
	}
}

// Planned takes a plan, which is not changed any more, and the documents that it was made
// of.
func (m *Metrics) Planned(set documents.Set, p *resolve.Plan) {
	used, groups, targets := make(map[string]bool), make(map[resolve.Group]bool), make(map[resolve.Key]bool)
	for _, g := range p.Groups() {
		used[g.Pool], groups[g] = true, true
	}
	for _, t := range p.Targets {
		targets[t.Key] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plans, m.plan, m.documents = m.plans+1, p, set
	if set.Complete && len(set.Mistakes) == 0 {
		m.sound = time.Now()
	}
	keep(m.pools, used)
	keep(m.groups, groups)
	keep(m.unchecked, groups)
	keep(m.targets, targets)
	keep(m.unfilled, targets)
}

// keep deletes what is not wanted any more.
func keep[K comparable, V any](of map[K]V, wanted map[K]bool) {
	maps.DeleteFunc(of, func(key K, _ V) bool { return !wanted[key] })
}

// pool returns what is known of a pool.
func (m *Metrics) pool(name string) *poolSeen {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pools[name] == nil {
		m.pools[name] = &poolSeen{}
	}
	return m.pools[name]
}

// Read takes an attempt to read the source of a pool.
func (m *Metrics) Read(name string, r pool.Reading) { m.pool(name).read(r) }

// Pool takes why a pool cannot be read as its document says, nil where it can.
func (m *Metrics) Pool(name string, err error) { m.pool(name).unread.Store(err != nil) }

// Reaches takes how the source of a pool is reached now.
func (m *Metrics) Reaches(name string, a Access) { m.pool(name).access.Store(&a) }

// Group takes why the endpoints of a group cannot be checked as its document says, nil
// where they can.
func (m *Metrics) Group(key resolve.Group, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unchecked[key] = err != nil
}

// Target takes why a Service cannot be filled, nil where it can.
func (m *Metrics) Target(key resolve.Key, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unfilled[key] = err != nil
}

// OfGroup returns what takes the outcomes of a group that begins, and what was told of
// them. It takes the place of the one before with the first outcome.
func (m *Metrics) OfGroup(key resolve.Group) func(pool.Outcome, narration.Pool) {
	of, newest := m.pool(key.Pool), &atomic.Pointer[pool.Outcome]{}
	var before totals
	return func(o pool.Outcome, memory narration.Pool) {
		if newest.Swap(&o) == nil {
			m.mu.Lock()
			m.groups[key] = newest
			m.mu.Unlock()
		}
		after := totalsOf(o, memory)
		of.add(before, after)
		before = after
	}
}

// OfTarget returns what takes the outcomes of a target that begins.
func (m *Metrics) OfTarget(key resolve.Key, dryRun bool) func(target.Outcome) {
	t := &targetSeen{dryRun: dryRun}
	return func(o target.Outcome) {
		if t.take(o) {
			m.mu.Lock()
			m.targets[key] = t
			m.mu.Unlock()
		}
	}
}

// targetSeen is what is known of the slices of one target.
type targetSeen struct {
	dryRun bool
	// fills has one for each pool. The list is not changed any more.
	fills atomic.Pointer[[]fillSeen]
}

// fillSeen is what is known of the slices that one pool fills under one name.
type fillSeen struct {
	slices                             string // the first name
	published, ready, pending, refused int
	// since is when slices began to differ.
	since                       time.Time
	problem                     plan.Kind
	failing, unreadable, defect bool
	// stale is unreadable because a watch is refused or silent.
	stale bool
}

// take takes an outcome in, and reports whether it is the first.
func (t *targetSeen) take(o target.Outcome) (first bool) {
	var fills []fillSeen
	before := t.fills.Load()
	if before != nil {
		fills = *before
	}
	at := slices.IndexFunc(fills, func(f fillSeen) bool { return f.slices == o.SliceName })
	f := fillSeen{slices: o.SliceName}
	if at >= 0 {
		f = fills[at]
	}
	next := f.after(o)
	switch {
	case at >= 0 && next == f:
		return false
	case at >= 0:
		fills = slices.Clone(fills)
		fills[at] = next
	default:
		fills = append(slices.Clip(fills), next)
	}
	t.fills.Store(&fills)
	return before == nil
}

// after returns what is known after an outcome.
func (f fillSeen) after(o target.Outcome) fillSeen {
	if o.Defect != nil {
		f.defect = true
		return f
	}
	now := fillSeen{
		slices: f.slices, pending: o.Pending, refused: len(o.State.Refused), problem: o.Problem.Kind,
		failing: o.WriteErr != nil, unreadable: o.LoadErr != nil, stale: o.State.Stale != nil,
	}
	if now.pending > 0 {
		now.since = f.since
		if f.pending == 0 {
			now.since = o.At
		}
	}
	for _, s := range o.State.Slices {
		now.published += len(s.Endpoints)
		for i := range s.Endpoints {
			if s.Endpoints[i].State == inventory.StateReady {
				now.ready++
			}
		}
	}
	return now
}
