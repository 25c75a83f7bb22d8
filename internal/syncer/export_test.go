package syncer

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// Findings is what a pass makes of decisions; see findings.
func Findings(before []Finding, filtered []inventory.Decision, verdict guard.Verdict, judged, now time.Time) []Finding {
	return findings(before, filtered, verdict, judged, now)
}

// Prepend is how a cycle is remembered; see prepend.
func Prepend(cycles []Cycle, c Cycle) []Cycle { return prepend(cycles, c) }

// CycleOf sums writes up; see cycleOf.
func CycleOf(results []WriteResult, at time.Time) Cycle { return cycleOf(results, at) }
