package metrics

import (
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// Planned takes a plan and the documents that it was made of.
func (m *Metrics) Planned(set documents.Set, p *assign.Plan) {
	used := make(map[string]*poolCounts)
	for _, g := range p.Groups() {
		used[g.Pool] = m.pool(g.Pool)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plans++
	if set.Complete && len(set.Mistakes) == 0 {
		m.sound = time.Now()
	}
	m.pools = used
}

// pool returns what is counted of a pool.
func (m *Metrics) pool(name string) *poolCounts {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pools[name] == nil {
		p := &poolCounts{}
		p.inventory.Store(&inventoryRead{})
		p.access.Store(&Access{})
		m.pools[name] = p
	}
	return m.pools[name]
}

// Read takes an attempt to read the source of a pool.
func (m *Metrics) Read(name string, r pool.Attempt) { m.pool(name).read(r) }

// Reaches takes how the source of a pool is reached now.
func (m *Metrics) Reaches(name string, a Access) { m.pool(name).access.Store(&a) }

// OfGroup returns what takes the outcomes of a group that begins, and what was told of
// them.
func (m *Metrics) OfGroup(key assign.Group) func(pool.Outcome, explain.Pool) {
	of := m.pool(key.Pool)
	var before totals
	return func(o pool.Outcome, memory explain.Pool) {
		after := totals{memory.Moves, o.Held, memory.Accepted, o.Overruns}
		of.add(before, after)
		before = after
	}
}

// Access tells of the way to the source of a pool. The functions are called at every
// scrape, from any goroutine, and must not block.
type Access struct {
	// Credentials return, by Token and Kubeconfig, how long each will be accepted, the zero
	// Credential where that is not known.
	Credentials map[string]func() Credential
	// RateLimit returns how many requests the IONOS Cloud allows at the moment, if it has
	// said so. It may be nil.
	RateLimit func() (remaining int, known bool)
}

// poolCounts is what is known of one pool. Its counters outlive its groups: what a group
// counted stays when the group ends.
type poolCounts struct {
	good, bad atomic.Uint64
	inventory atomic.Pointer[inventoryRead]
	access    atomic.Pointer[Access]

	probes                                 [inventory.Silent + 1]atomic.Uint64
	moves                                  [inventory.StateDown + 1]atomic.Uint64
	alarms                                 [len(health.HolderStats{}.Alarms)]atomic.Uint64
	accepted, overruns, ignored, confirmed atomic.Uint64
}

// inventoryRead is the newest complete inventory: when its read began, and how many nodes
// it lists.
type inventoryRead struct {
	at    time.Time
	nodes int
}

// read takes an attempt to read in.
func (p *poolCounts) read(r pool.Attempt) {
	if r.Err != nil {
		p.bad.Add(1)
		return
	}
	p.good.Add(1)
	p.inventory.Store(&inventoryRead{r.At, len(r.Nodes)})
}

// totals are what one group counted since it began.
type totals struct {
	moves              [inventory.StateDown + 1]uint64
	held               pool.HoldCounts
	accepted, overruns uint64
}

// add adds what a group counted since the last time.
func (p *poolCounts) add(before, after totals) {
	for i := range p.moves {
		p.moves[i].Add(after.moves[i] - before.moves[i])
	}
	for i := range p.alarms {
		p.alarms[i].Add(after.held.Alarms[i] - before.held.Alarms[i])
	}
	p.accepted.Add(after.accepted - before.accepted)
	p.overruns.Add(after.overruns - before.overruns)
	p.ignored.Add(after.held.Ignored - before.held.Ignored)
	p.confirmed.Add(after.held.Confirmed - before.held.Confirmed)
}
