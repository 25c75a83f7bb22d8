package controllertest

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
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
	// Planned are passes of a Service that can be filled.
	Planned uint64
	// Defects are panics that stopped the target for a while.
	Defects uint64
}

// Decided reports whether the first decision was made (readiness, contract 31).
func (s *Status) Decided() bool { return !s.At.IsZero() }
