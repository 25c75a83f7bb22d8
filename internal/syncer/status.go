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
	// Overruns counts the rounds of probes that could not finish within the
	// interval since the start.
	Overruns uint64
}

// SourceStatus is how reading goes.
type SourceStatus struct {
	LastAttempt, LastSuccess time.Time
	// LastErr is nil after a success.
	LastErr error
	// Nodes is how many nodes the last complete read listed, Decisions what the
	// filter made of them.
	Nodes     int
	Decisions []inventory.Decision
}

// Decided reports whether the first decision was made (readiness, contract 31).
func (s *Status) Decided() bool { return !s.At.IsZero() }

// Trail returns every decision of the last pass in order, from the filter by way
// of the probes to the guard.
func (s *Status) Trail() []inventory.Decision {
	return trail(s.Source.Decisions, s.Verdict.Decisions, s.Health)
}
