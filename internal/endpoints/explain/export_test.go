package explain

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// CycleOf sums writes up; see cycleOf.
func CycleOf(results []writer.Result, began, ended time.Time) Cycle {
	return cycleOf(results, began, ended)
}
