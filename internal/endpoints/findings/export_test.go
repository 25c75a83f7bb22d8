package findings

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer/outbox"
)

// CycleOf sums writes up; see cycleOf.
func CycleOf(results []outbox.Result, began, ended time.Time) Cycle {
	return cycleOf(results, began, ended)
}
