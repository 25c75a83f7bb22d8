package syncer

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// Status is everything that the surfaces show, as of one pass. It is a value
// that nobody changes any more.
type Status struct {
	// At is when the pass began, zero before the first decision.
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
	Findings []Finding
	// Cycles are the newest reads and changes, newest first, at most
	// MaxCycles.
	Cycles []Cycle
	// Counts are the totals since the start.
	Counts Counts
}

// SourceStatus is how reading goes.
type SourceStatus struct {
	LastAttempt, LastSuccess time.Time
	// Next is when the source is read again by schedule; a source that signals
	// changes may be read before.
	Next time.Time
	// LastErr is nil after a success.
	LastErr error
	// Nodes is how many nodes the last complete read listed, Decisions what the
	// filter made of them.
	Nodes     int
	Decisions []inventory.Decision
}

// StoreStatus is how loading and writing goes.
type StoreStatus struct {
	// LastWrite is when the last write succeeded, zero if none has.
	LastWrite time.Time
	// LastErr is why the last load or write failed, nil after a success.
	LastErr error
	// Pending is how many slices still differ from what was decided; in a dry
	// run those that it does not write.
	Pending int
}

// Counts are totals since the start.
type Counts struct {
	// Overruns are rounds of probes that could not finish within the interval
	// (contract 12).
	Overruns uint64
	// Unchanged, Changed and Blocked are passes by what they came to: slices as
	// they should be, slices to write, or something about the Service in the
	// way.
	Unchanged, Changed, Blocked uint64
	// Moves are members that entered the state, by state.
	Moves [states]uint64
}

// states is how many states there are.
const states = inventory.StateDown + 1

// Decided reports whether the first decision was made (readiness, contract 31).
func (s *Status) Decided() bool { return !s.At.IsZero() }

// Trail returns every decision of the last pass in order, from the filter by way
// of the probes to the guard.
func (s *Status) Trail() []inventory.Decision {
	return trail(s.Source.Decisions, s.Verdict.Decisions, s.Health)
}
