package publish_test

import (
	"slices"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// TestASliceThatStaysAsItIsSharesWhatWasDecided: of a large target most slices stay as
// they are at each change, and hold a list of their own once they were read. Code that
// appends to a shared list must copy it.
func TestASliceThatStaysAsItIsSharesWhatWasDecided(t *testing.T) {
	w := newWorld(10)
	w.publish(numbered(1, 30))
	before := slices.Clone(w.state.Slices)
	for i := range before {
		before[i].Endpoints = slices.Clone(before[i].Endpoints)
		w.state.Slices[i].Endpoints = slices.Grow(slices.Clone(before[i].Endpoints), 5)
	}
	decided := numbered(1, 30)
	decided[12].State = inventory.StateDown
	desired, _ := publish.Desired(decided, w.state, w.target)
	shared := publish.Shared(w.state.Slices, desired)
	for i, want := range []bool{true, false, true} {
		if got := desired[i].Endpoints; &got[0] != &decided[10*i] || cap(got) != len(got) {
			t.Errorf("slice %d: got endpoints of its own with room for %d, want shared ones without room", i+1, cap(got)-len(got))
		}
		if got := &shared[i].Endpoints[0] == &decided[10*i]; got != want {
			t.Errorf("slice %d as it is: got that the endpoints are shared: %t, want %t", i+1, got, want)
		}
		if !shared[i].SameVersion(before[i]) || !w.state.Slices[i].SameVersion(before[i]) || &w.state.Slices[i].Endpoints[0] == &decided[10*i] {
			t.Errorf("slice %d: got %+v and %+v, want both as before, and the second not changed", i+1, shared[i], w.state.Slices[i])
		}
	}
	if again := publish.Shared(shared, desired); &again[0] != &shared[0] {
		t.Error("slices that share already were copied")
	}
}

// TestManySlicesShareWhatWasDecided: the slices of 1,000 Services with the same
// endpoints hold one list, also after a change.
func TestManySlicesShareWhatWasDecided(t *testing.T) {
	w := newWorld(10)
	members := numbered(1, 25)
	w.publish(members)
	decided := slices.Clone(members)
	decided[3].State, decided[17].State = inventory.StateDown, inventory.StateDown
	before := slices.Clone(decided)
	desired, _ := publish.Desired(decided, w.state, w.target)
	for i, first := range []int{0, 10} {
		got := desired[i].Endpoints
		if &got[0] != &decided[first] || len(got) != 10 || cap(got) != len(got) {
			t.Errorf("slice %d: got %d endpoints of their own with room for %d, want 10 shared ones without room", i+1, len(got), cap(got))
		}
	}
	decided = slices.Delete(decided, 12, 13) // then one of the third slice moves nowhere
	desired, _ = publish.Desired(append(decided, ready(v4(99))...), w.state, w.target)
	if got := len(desired[1].Endpoints) + len(desired[2].Endpoints); got != 15 {
		t.Errorf("got %d endpoints in the second and third slice, want 15", got)
	}
	if !slices.Equal(decided[:12], before[:12]) {
		t.Error("the decision was changed")
	}
}
