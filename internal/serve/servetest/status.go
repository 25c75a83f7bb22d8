package servetest

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
)

// Status is what the newest pass saw and decided. It is not changed any more.
type Status struct {
	// At is when it was made, zero before the first decision.
	At      time.Time
	Verdict guard.Verdict
	// ModeSince is when the mode was entered.
	ModeSince time.Time
	Health    inventory.Health
	State     plan.State
	Problem   plan.Problem
	Source    SourceStatus
	Store     StoreStatus
	// Findings are the last word on every node and address, those that left a
	// short while ago included, sorted by node and address.
	Findings []narration.Finding
	// findings makes Findings, nil where they are there already.
	findings func() []narration.Finding
	// Counts are the totals since the start.
	Counts Counts
}

// SourceStatus is how reading goes.
type SourceStatus = pool.Sourced

// StoreStatus is how loading and writing goes.
type StoreStatus struct {
	// LastWrite is when the last write succeeded, zero if none has.
	LastWrite time.Time
	// LoadErr is why the last load failed, nil after a success.
	LoadErr error
	// WriteErr is why slices that should be written cannot be, nil if all can.
	WriteErr error
	// Pending is how many slices still differ from what was decided; in a dry
	// run those that it does not write.
	Pending int
}

// Counts are totals since the start.
type Counts struct {
	// Overruns are rounds of probes that could not finish within the interval
	// (contract 12).
	Overruns uint64
	// Held is what held connections came to.
	Held pool.Held
	// Unchanged, Changed and Blocked are passes: slices are as they should be, are
	// to be written, or cannot be because of the Service.
	Unchanged, Changed, Blocked uint64
	// Defects are panics that stopped the target for a while.
	Defects uint64
	// Accepted are endpoints that rejected inventories took away.
	Accepted uint64
	// Moves are members that entered the state, by state.
	Moves [inventory.StateDown + 1]uint64
}

// Decided reports whether the first decision was made (readiness, contract 31).
func (s *Status) Decided() bool { return !s.At.IsZero() }

// Trail returns every decision of the last pass in order, from the filter by way
// of the probes to the guard.
func (s *Status) Trail() []inventory.Decision {
	return narration.Trail(s.Source.Decisions, s.Verdict.Decisions, s.Health)
}
