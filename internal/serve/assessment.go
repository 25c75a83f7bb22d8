package serve

import (
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/outbox"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
)

// Assessment is what one look at all pools and Services comes to.
type Assessment struct {
	At        time.Time
	Documents documents.Set
	Plan      resolve.Plan
	// Unread says which parts of the local cluster could not be read, and why.
	Unread []error
	Pools  map[string]*AssessedPool
	Groups map[resolve.Group]*AssessedGroup
	// Targets are those of Plan, in its order.
	Targets []*AssessedTarget

	services []resolve.Service
}

// AssessedPool is what one read of a pool came to.
type AssessedPool struct {
	pool.Sourced
	// Warnings are those of the source.
	Warnings []string

	read guard.Read
}

// AssessedGroup is what was decided on the endpoints of a pool by one health check.
type AssessedGroup struct {
	GroupState
	// Err is why nothing was decided.
	Err error
}

// AssessedTarget is one Service.
type AssessedTarget struct {
	resolve.Target
	// Fills has one for each of its Uses, in their order.
	Fills []*AssessedFill
}

// unwritten reports whether some of its slices could not be read or written.
func (t *AssessedTarget) unwritten() bool {
	return slices.ContainsFunc(t.Fills, func(f *AssessedFill) bool { return f.StoreErr != nil })
}

// AssessedFill is what one pool gives a Service.
type AssessedFill struct {
	Use    resolve.PoolUse
	Target plan.Target
	// State is what the slices are, Desired what they should be, and Writes lead from one
	// to the other. Problem is why the Service cannot be filled.
	State   plan.State
	Desired []plan.Slice
	Problem plan.Problem
	Writes  []plan.Write
	// Results are what came of the writes that were sent, also of those that were
	// decided again after a conflict.
	Results []outbox.Result
	// Undecided is why nothing was decided; StoreErr is why the slices cannot be read, or
	// not all of them be written. Both are nil where all went well.
	Undecided, StoreErr error

	members []inventory.Member
}

// Landed is how many writes succeeded.
func (f *AssessedFill) Landed() int {
	landed := 0
	for _, r := range f.Results {
		if r.Err == nil {
			landed++
		}
	}
	return landed
}

// plan computes what the slices should be.
func (f *AssessedFill) plan() {
	f.Desired, f.Problem = plan.Desired(f.members, f.State, f.Target)
	f.Writes = plan.Diff(f.State.Slices, f.Desired)
}
