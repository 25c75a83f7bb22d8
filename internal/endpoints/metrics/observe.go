package metrics

import (
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/findings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// seen is what Metrics counts and no snapshot of the engine has. A pool that no plan has any
// more is forgotten with the next one.
type seen struct {
	mu sync.Mutex
	// pools are those that are in use.
	pools map[string]*poolSeen
	// plans counts the plans.
	plans uint64
	// sound is when the documents last were without a mistake.
	sound time.Time
}

// Planned takes a plan and the documents that it was made of.
func (m *Metrics) Planned(set documents.Set, p *assign.Plan) {
	used := make(map[string]*poolSeen)
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

// Reaches takes how the source of a pool is reached now.
func (m *Metrics) Reaches(name string, a Access) { m.pool(name).access.Store(&a) }

// OfGroup returns what takes the outcomes of a group that begins, and what was told of
// them.
func (m *Metrics) OfGroup(key assign.Group) func(pool.Outcome, findings.Pool) {
	of := m.pool(key.Pool)
	var before totals
	return func(o pool.Outcome, memory findings.Pool) {
		after := totalsOf(o, memory)
		of.add(before, after)
		before = after
	}
}
