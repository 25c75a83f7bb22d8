package controller

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

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
