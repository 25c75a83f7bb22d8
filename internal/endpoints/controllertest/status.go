package controllertest

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// Status is what the newest pass saw and decided. It is not changed any more.
type Status struct {
	report.Status
	// findings makes Findings, nil where they are there already.
	findings func() []explain.Finding
	// Counts are the totals since the start.
	Counts Counts
}

// Counts are totals since the start.
type Counts struct {
	// Overruns are rounds of probes that could not finish within the interval
	// (contract 12).
	Overruns uint64
	// Held is what held connections came to.
	Held pool.HoldCounts
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
	return explain.Trail(s.Source.Decisions, s.Verdict.Decisions, s.Health)
}
