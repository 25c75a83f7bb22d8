package publish_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// surplus is a world of three slices. Two must be emptied: the endpoints need only
// one slice, and two may hold them.
func surplus() (*world, []inventory.Member) {
	w := newWorld(10)
	w.hold(numbered(1, 3), numbered(11, 12), numbered(21, 21), numbered(31, 34))
	return w, append(append(append(numbered(1, 3), numbered(11, 12)...), numbered(21, 21)...), numbered(31, 34)...)
}

func TestContract18AMoveAddsBeforeItRemovesAndWaitsForTheOtherWrite(t *testing.T) {
	w, members := surplus()
	writes := w.plan(members)
	type step struct {
		Name           string
		Added, Removed int
		After          []string
	}
	want := []step{
		{"web-remote", 3, 0, nil},
		{"web-remote-2", 0, 2, []string{"web-remote"}},
		{"web-remote-3", 0, 1, []string{"web-remote"}},
	}
	var got []step
	for _, write := range writes {
		got = append(got, step{write.Slice.Name, len(write.Added), len(write.Removed), write.After})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestAWriteThatGainsNeverWaitsEvenWhereItLosesADuplicateThatMoves(t *testing.T) {
	w := newWorld(6)
	w.hold(numbered(1, 5), numbered(20, 21), append(numbered(20, 20), numbered(31, 33)...), numbered(41, 41), numbered(51, 51))
	members := slices.Concat(numbered(1, 5), numbered(20, 21), numbered(31, 33), numbered(41, 41), numbered(51, 51))
	members[0].State, members[6].State = inventory.StateDown, inventory.StateDown
	got := map[string][]string{}
	for _, write := range w.publish(members) {
		got[write.Slice.Name] = write.After
	}
	// 10.0.0.20 moves from the second slice to the first and leaves the third,
	// to which 10.0.0.21 moves.
	want := map[string][]string{"web-remote": nil, "web-remote-2": {"web-remote", "web-remote-3"}, "web-remote-3": nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what each write waits for (-want +got):\n%s", diff)
	}
}

// One slice loses its last ready endpoint and another slice gets one back: between
// the two writes something must be ready.
func TestContract15WhatBecomesReadyIsWrittenBeforeWhatCeasesToBe(t *testing.T) {
	w := newWorld(2)
	members := numbered(1, 4)
	members[2].State, members[3].State = inventory.StateDown, inventory.StateDown
	w.publish(members)
	for i := range members {
		members[i].State = inventory.StateDown
	}
	members[3].State = inventory.StateReady
	for i, write := range w.plan(members) {
		w.apply(write)
		if !slices.ContainsFunc(w.published(), func(m inventory.Member) bool { return m.State == inventory.StateReady }) {
			t.Errorf("after write %d, of %s, nothing is ready", i+1, write.Slice.Name)
		}
	}
}

// Another client, or a crash in the middle of a move, may leave an address in two
// slices.
func TestTheReadyCopyOfADuplicateWaitsUntilTheOtherIsReady(t *testing.T) {
	down := numbered(5, 5)
	down[0].State = inventory.StateDown
	for name, copies := range map[string][2][]inventory.Member{
		"ready in the first":  {numbered(5, 5), down},
		"ready in the second": {down, numbered(5, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(10)
			w.hold(append(numbered(1, 4), copies[0]...), append(copies[1], numbered(6, 9)...))
			addr := down[0].Address
			writes := w.plan(numbered(1, 9))
			for i, write := range writes {
				if slices.Contains(write.Removed, addr) && i > 0 && !slices.Contains(write.After, writes[0].Slice.Name) {
					t.Errorf("%s loses %s and waits for %v, want it to wait for %s", write.Slice.Name, addr, write.After, writes[0].Slice.Name)
				}
				w.apply(write)
				if !slices.ContainsFunc(w.state.Slices, func(s publish.Slice) bool {
					return slices.ContainsFunc(s.Endpoints, func(m inventory.Member) bool { return m.Address == addr && m.State == inventory.StateReady })
				}) {
					t.Errorf("after write %d, of %s, %s is ready nowhere", i+1, write.Slice.Name, addr)
				}
			}
		})
	}
}

// A slice that gains an endpoint waits for no other write. So if it has the ready
// copy, that copy must stay.
func TestContract01ASliceThatGainsDoesNotLoseTheReadyCopyOfADuplicate(t *testing.T) {
	down := numbered(5, 5)
	down[0].State = inventory.StateDown
	for name, copies := range map[string][2][]inventory.Member{
		"ready in the first":  {numbered(5, 5), down},
		"ready in the second": {down, numbered(5, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int{5, 6, 10} {
				w := newWorld(limit)
				w.hold(append(numbered(1, 2), copies[0]...), append(copies[1], numbered(6, 9)...))
				for i, write := range w.plan(slices.Concat(numbered(1, 9), numbered(20, 21))) {
					w.apply(write)
					if !slices.ContainsFunc(w.state.Slices, func(s publish.Slice) bool { return slices.Contains(s.Endpoints, numbered(5, 5)[0]) }) {
						t.Errorf("limit %d: after write %d, of %s, %s is ready nowhere", limit, i+1, write.Slice.Name, down[0].Address)
					}
				}
			}
		})
	}
}

func TestWhatBecomesReadyIsWrittenBeforeAZone(t *testing.T) {
	a, b := numbered(1, 1), numbered(2, 2)
	a[0].State, b[0].State = inventory.StateReady, inventory.StateDown
	current := []publish.Slice{{Name: "s1", Family: publish.IPv4, Endpoints: a}, {Name: "s2", Family: publish.IPv4, Endpoints: b}}
	zoned, ready := slices.Clone(a), slices.Clone(b)
	zoned[0].Zone, ready[0].State = "zone-2", inventory.StateReady
	desired := []publish.Slice{{Name: "s1", Family: publish.IPv4, Endpoints: zoned}, {Name: "s2", Family: publish.IPv4, Endpoints: ready}}
	if writes := publish.Diff(current, desired); len(writes) != 2 || writes[0].Slice.Name != "s2" {
		t.Errorf("got %+v, want the endpoint that becomes ready first", writes)
	}
}

func TestARemovalThatIsNoMoveWaitsForNothing(t *testing.T) {
	w := newWorld(2)
	w.publish(numbered(1, 4))
	writes := w.plan(append(numbered(2, 3), ready(v4(9))...))
	if len(writes) != 2 || len(writes[0].After)+len(writes[1].After) != 0 {
		t.Errorf("got %+v, want two writes that wait for nothing", writes)
	}
}

func TestAMoveThatWasInterruptedIsFinishedByTheNextPass(t *testing.T) {
	for done := range 4 {
		w, members := surplus()
		for _, write := range w.plan(members)[:done] {
			w.apply(write)
		}
		w.publish(members)
		if diff := cmp.Diff(members, w.published(), compareAddrs()); diff != "" {
			t.Errorf("after %d writes and another pass (-want +got):\n%s", done, diff)
		}
		if w.writes != 3 || w.holding(publish.IPv4) != 2 {
			t.Errorf("after %d writes and another pass: got %d writes and %d slices that hold endpoints, want 3 and 2", done, w.writes, w.holding(publish.IPv4))
		}
	}
}

func TestAnAddressInTwoSlicesStaysInOneAndOnlyTheOtherIsWritten(t *testing.T) {
	w := newWorld(10)
	w.hold(numbered(1, 5), numbered(5, 9))
	writes := w.publish(numbered(1, 9))
	if diff := cmp.Diff(numbered(1, 9), w.published(), compareAddrs()); diff != "" || len(writes) != 1 {
		t.Errorf("got %d writes, want 1; published (-want +got):\n%s", len(writes), diff)
	}
}

func TestALoweredMaximumMovesNoMoreThanItMust(t *testing.T) {
	w := newWorld(10)
	w.publish(numbered(1, 25)) // 10, 10 and 5
	w.target.MaxEndpoints = 8
	writes := w.publish(numbered(1, 25))
	var sizes []int
	for _, s := range w.state.Slices {
		sizes = append(sizes, len(s.Endpoints))
	}
	if diff := cmp.Diff([]int{8, 8, 5, 4}, sizes); diff != "" {
		t.Errorf("endpoints in each slice (-want +got):\n%s", diff)
	}
	moved := 0
	for _, write := range writes {
		moved += len(write.Removed)
		if len(write.Removed) > 0 && len(write.After) == 0 {
			t.Errorf("%s loses %v and waits for nothing", write.Slice.Name, write.Removed)
		}
	}
	if moved != 4 {
		t.Errorf("%d endpoints moved, want 4", moved)
	}
}

func TestARaisedMaximumMovesNothingThatTheBoundAllows(t *testing.T) {
	w := newWorld(10)
	w.publish(numbered(1, 40)) // 4 slices
	w.target.MaxEndpoints = 20
	if writes := w.plan(numbered(1, 40)); len(writes) != 0 {
		t.Errorf("max 20: got %d writes, want none, because 4 slices may hold 40 endpoints", len(writes))
	}
	w.target.MaxEndpoints = 40
	if writes := w.publish(numbered(1, 40)); len(writes) != 3 || w.holding(publish.IPv4) != 2 {
		t.Errorf("max 40: got %d writes and %d slices that hold endpoints, want 3 and 2", len(writes), w.holding(publish.IPv4))
	}
}

func TestNeitherMembersNorSlicesNorTargetAreChanged(t *testing.T) {
	w, members := surplus()
	w.state.Slices[1].Drift = "drift"
	w.state.Refused = []publish.Refusal{{Name: "web-remote-5"}}
	// Spare capacity is where an append would write into the input.
	for i, s := range w.state.Slices {
		w.state.Slices[i].Endpoints = slices.Grow(s.Endpoints, 10)
	}
	members = append(slices.Grow(members, 10), numbered(90, 99)...)
	slices.Reverse(members)
	state, was, target := clone(w.state), slices.Clone(members), w.target
	desired, _ := publish.Desired(members, w.state, w.target)
	copied := publish.State{Slices: desired}
	wanted := clone(copied)
	for _, write := range publish.Diff(w.state.Slices, desired) {
		clear(write.Added)
		clear(write.Removed)
	}
	if diff := cmp.Diff(state, w.state, compareAddrs()); diff != "" {
		t.Errorf("the state moved (-before +after):\n%s", diff)
	}
	for i, s := range w.state.Slices {
		spare := s.Endpoints[len(s.Endpoints):cap(s.Endpoints)]
		if slices.ContainsFunc(spare, func(m inventory.Member) bool { return m != inventory.Member{} }) {
			t.Errorf("something was written behind the endpoints of slice %d: %v", i+1, spare)
		}
	}
	if diff := cmp.Diff(was, members, compareAddrs()); diff != "" {
		t.Errorf("the members moved (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(target, w.target); diff != "" {
		t.Errorf("the target moved (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(wanted, copied, compareAddrs()); diff != "" {
		t.Errorf("Diff moved its input (-before +after):\n%s", diff)
	}
}

// clone is a deep copy.
func clone(state publish.State) publish.State {
	state.Service.Ports = slices.Clone(state.Service.Ports)
	state.Refused = slices.Clone(state.Refused)
	state.Slices = slices.Clone(state.Slices)
	for i, s := range state.Slices {
		state.Slices[i].Endpoints = slices.Clone(s.Endpoints)
		state.Slices[i].Ports = slices.Clone(s.Ports)
	}
	return state
}
