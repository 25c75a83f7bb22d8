package serve_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/outbox"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/target"
)

// Contract 71: what is shown is small, and outlives what went wrong since.
func TestOfAServiceTheLastStateAndTheNewestChangesAreShown(t *testing.T) {
	t.Parallel()
	at := time.Now()
	var outcomes []target.Outcome
	for i := range 9 {
		outcomes = append(outcomes, target.Outcome{At: at.Add(time.Duration(i) * time.Second), SliceName: "blue", Pending: i, State: plan.State{Slices: make([]plan.Slice, 2)}, Results: []outbox.Result{{}}})
	}
	outcomes = append(outcomes,
		target.Outcome{SliceName: "green", Pending: 77},
		target.Outcome{At: at.Add(time.Minute), SliceName: "blue", Defect: &target.Defect{Value: "boom"}, Results: []outbox.Result{{Err: errors.New("boom")}}},
	)
	got := serve.Seen(outcomes, narration.Story{Cycle: &narration.Cycle{Writes: 1}})
	if len(got.Writes) != 5 || cap(got.Writes) > 8 {
		t.Errorf("got %d changes in room for %d, want the newest 5", len(got.Writes), cap(got.Writes))
	}
	if got.Defect == nil || got.Pending != 8 || len(got.State.Slices) != 2 || !got.LastWrite.Equal(at.Add(8*time.Second)) {
		t.Errorf("got %+v, want the defect, and what was known before", got)
	}
	if got := serve.Seen(append(outcomes, target.Outcome{SliceName: "blue"}), narration.Story{}); got.Defect != nil || got.Pending != 0 {
		t.Errorf("got %+v, want that the defect is over", got)
	}
}

func TestOfAGroupTheReadsAreShownAndNoNodes(t *testing.T) {
	t.Parallel()
	got := serve.SeenOfGroup(pool.Outcome{Decided: true, Read: &pool.Reading{}}, narration.Story{Cycle: &narration.Cycle{}})
	if got.Read != nil || len(got.Reads) != 1 || !got.Decided {
		t.Errorf("got %+v, want one read without its nodes", got)
	}
}
