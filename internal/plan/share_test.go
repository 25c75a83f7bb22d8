package plan_test

import (
	"slices"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// TestAChangeSharesWhatTheOtherSlicesHold: of a large target most slices stay as they
// are at each change. Code that appends to a shared list must copy it.
func TestAChangeSharesWhatTheOtherSlicesHold(t *testing.T) {
	w := newWorld(10)
	members := numbered(1, 30)
	w.publish(members)
	for i := range w.state.Slices {
		w.state.Slices[i].Endpoints = slices.Grow(w.state.Slices[i].Endpoints, 5)
	}
	members[12].State = inventory.StateDown
	desired, _ := plan.Desired(members, w.state, w.target)
	for i, want := range []bool{true, false, true} {
		have, got := w.state.Slices[i].Endpoints, desired[i].Endpoints
		if shared := &have[0] == &got[0]; shared != want {
			t.Errorf("slice %d: got that the endpoints are shared: %t, want %t", i+1, shared, want)
		}
		if want && cap(got) != len(got) {
			t.Errorf("slice %d: got room for %d endpoints beside the %d shared ones, want none", i+1, cap(got)-len(got), len(got))
		}
	}
	if state := desired[1].StateOf(members[12].Address); state != inventory.StateDown {
		t.Errorf("got the changed endpoint %s, want it down", state)
	}
	if state := w.state.Slices[1].StateOf(members[12].Address); state != inventory.StateReady {
		t.Errorf("got the input's endpoint %s, want it as it was", state)
	}
}
