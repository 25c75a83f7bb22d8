package metrics

import (
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/findings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health/idle"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// Access tells of the way to the source of a pool. The functions are called at every
// scrape, from any goroutine, and must not block; each may be nil.
type Access struct {
	// TokenExpiry returns when the token of the IONOS Cloud expires, if that is known.
	TokenExpiry func() (time.Time, bool)
	// Credential returns how long the API server of the remote cluster will accept us, the
	// zero Credential where that is not known.
	Credential func() Credential
	// RateLimit returns how many requests the IONOS Cloud allows at the moment, if it has
	// said so.
	RateLimit func() (remaining int, known bool)
}

// poolSeen is what is known of one pool. Its counters outlive its groups: what a group
// counted stays when the group ends.
type poolSeen struct {
	good, bad atomic.Uint64
	inventory atomic.Pointer[inventoryRead]
	access    atomic.Pointer[Access]

	probes                                 [inventory.Silent + 1]atomic.Uint64
	moves                                  [inventory.StateDown + 1]atomic.Uint64
	alarms                                 [len(idle.Stats{}.Alarms)]atomic.Uint64
	accepted, overruns, ignored, confirmed atomic.Uint64
}

// inventoryRead is the newest complete inventory: when its read began, and how many nodes
// it lists.
type inventoryRead struct {
	at    time.Time
	nodes int
}

// read takes an attempt to read in.
func (p *poolSeen) read(r pool.Reading) {
	if r.Err != nil {
		p.bad.Add(1)
		return
	}
	p.good.Add(1)
	p.inventory.Store(&inventoryRead{r.At, len(r.Nodes)})
}

// newest returns the newest complete inventory, the zero one before the first.
func (p *poolSeen) newest() inventoryRead {
	if read := p.inventory.Load(); read != nil {
		return *read
	}
	return inventoryRead{}
}

// totals are what one group counted since it began.
type totals struct {
	moves              [inventory.StateDown + 1]uint64
	held               pool.Held
	accepted, overruns uint64
}

func totalsOf(o pool.Outcome, memory findings.Pool) totals {
	return totals{memory.Moves, o.Held, memory.Accepted, o.Overruns}
}

// add adds what a group counted since the last time.
func (p *poolSeen) add(before, after totals) {
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
