package controller_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// Contract 71: what is shown is small, and outlives what went wrong since.
func TestOfAServiceTheLastStateAndTheNewestChangesAreShown(t *testing.T) {
	t.Parallel()
	at := time.Now()
	var outcomes []writer.Outcome
	for i := range 9 {
		outcomes = append(outcomes, writer.Outcome{At: at.Add(time.Duration(i) * time.Second), SliceName: "blue", Pending: i, State: publish.State{Slices: make([]publish.Slice, 2)}, Results: []writer.Result{{}}})
	}
	outcomes = append(outcomes,
		writer.Outcome{SliceName: "green", Pending: 77},
		writer.Outcome{At: at.Add(time.Minute), SliceName: "blue", Defect: &writer.Defect{Value: "boom"}, Results: []writer.Result{{Err: errors.New("boom")}}},
	)
	got := controller.Seen(outcomes, explain.Story{Cycle: &explain.Cycle{Writes: 1}})
	if len(got.Writes) != 5 || cap(got.Writes) > 8 {
		t.Errorf("got %d changes in room for %d, want the newest 5", len(got.Writes), cap(got.Writes))
	}
	if got.Defect == nil || got.Pending != 8 || len(got.State.Slices) != 2 || !got.LastWrite.Equal(at.Add(8*time.Second)) {
		t.Errorf("got %+v, want the defect, and what was known before", got)
	}
	if got := controller.Seen(append(outcomes, writer.Outcome{SliceName: "blue"}), explain.Story{}); got.Defect != nil || got.Pending != 0 {
		t.Errorf("got %+v, want that the defect is over", got)
	}
}

func TestOfAGroupTheReadsAreShownAndNoNodes(t *testing.T) {
	t.Parallel()
	got := controller.SeenOfGroup(pool.Outcome{Decided: true, Read: &pool.Attempt{}}, explain.Story{Cycle: &explain.Cycle{}})
	if got.Read != nil || len(got.Reads) != 1 || !got.Decided {
		t.Errorf("got %+v, want one read without its nodes", got)
	}
}
