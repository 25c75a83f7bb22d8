package serve

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/target"
)

// Observe is told what runs, and what comes of it. The functions are called from the loops
// and must not block; each may be nil.
type Observe struct {
	// Planned gets each plan, after what it says runs, and the documents that it was made
	// of.
	Planned func(set documents.Set, plan *resolve.Plan)
	// Read gets each attempt to read the source of a pool.
	Read func(pool string, r pool.Reading)
	// OfGroup and OfTarget return what gets the outcomes of a group or a target that
	// begins, those of a group with what was told of them.
	OfGroup  func(key resolve.Group) func(pool.Outcome, narration.Pool)
	OfTarget func(key resolve.Key, dryRun bool) func(target.Outcome)
}

// Fill sets functions that are nil.
func (o *Observe) Fill() {
	if o.Planned == nil {
		o.Planned = func(documents.Set, *resolve.Plan) {}
	}
	if o.Read == nil {
		o.Read = func(string, pool.Reading) {}
	}
	if o.OfGroup == nil {
		o.OfGroup = func(resolve.Group) func(pool.Outcome, narration.Pool) { return func(pool.Outcome, narration.Pool) {} }
	}
	if o.OfTarget == nil {
		o.OfTarget = func(resolve.Key, bool) func(target.Outcome) { return func(target.Outcome) {} }
	}
}
