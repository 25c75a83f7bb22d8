package publish_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// in returns endpoints in these states, of the addresses from 1 on; absent ones are left out.
func in(states ...inventory.State) []inventory.Member {
	var members []inventory.Member
	for i, state := range states {
		if state != inventory.Absent {
			members = append(members, inventory.Member{Address: v4(i + 1), State: state, Zone: "a"})
		}
	}
	return members
}

func TestContract222LossesTakeAwayWhatNoSliceIsToHave(t *testing.T) {
	const absent, ready, draining, down = inventory.Absent, inventory.StateReady, inventory.StateDraining, inventory.StateDown
	for name, c := range map[string]struct {
		stored, want, other, left []inventory.Member
		found                     bool
	}{
		"as it should be":             {in(ready, down), in(ready, down), nil, nil, false},
		"removed":                     {in(ready, ready), in(ready), nil, in(ready), true},
		"all removed":                 {in(ready), nil, nil, nil, true},
		"down":                        {in(ready, ready), in(ready, down), nil, in(ready, down), true},
		"drains":                      {in(ready), in(draining), nil, in(draining), true},
		"removed, and another added":  {in(ready), in(absent, ready), nil, nil, true},
		"down, and another is better": {in(ready, down), in(down, ready), nil, in(down, down), true},
		"added only":                  {in(ready), in(ready, ready), nil, nil, false},
		"better":                      {in(down), in(ready), nil, nil, false},
		"moves":                       {in(ready), nil, in(ready), nil, false},
		"moves, and goes down":        {in(ready), nil, in(down), in(down), true},
		"stays better elsewhere":      {in(ready), in(down), in(ready), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(10)
			w.hold(c.stored, c.other)
			stored, want := w.state.Slices[0], w.state.Slices[0]
			stored.Drift, stored.PublishNotReady = "a label", true
			want.Owner, want.Endpoints = "uid-2", c.want
			got, found := publish.Losses(stored, []publish.Slice{want, w.state.Slices[1]})
			if found != c.found {
				t.Fatalf("got %+v and %t, want %t", got, found, c.found)
			}
			left := stored
			left.Endpoints, left.Drift = c.left, ""
			if diff := cmp.Diff(left, got.Slice, compareAddrs(), cmpopts.EquateEmpty()); found && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestContract222WhatWasDecidedOfOtherPortsTakesNothingAway: an endpoint that is down on
// the new port may work on the stored one.
func TestContract222WhatWasDecidedOfOtherPortsTakesNothingAway(t *testing.T) {
	w := newWorld(10)
	w.hold(in(inventory.StateReady))
	want := w.state.Slices[0]
	want.Endpoints = in(inventory.StateDown)
	for name, c := range map[string]struct {
		ports []publish.Port
		found bool
	}{
		"another number":   {[]publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8081}}, false},
		"another protocol": {[]publish.Port{{Name: "http", Protocol: publish.UDP, Number: 8080}}, false},
		"one more":         {[]publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}, {Name: "more", Protocol: publish.TCP, Number: 80}}, false},
		"another name":     {[]publish.Port{{Name: "web", Protocol: publish.TCP, Number: 8080}}, true},
	} {
		want.Ports = c.ports
		if got, found := publish.Losses(w.state.Slices[0], []publish.Slice{want}); found != c.found || found && got.Slice.Ports[0].Name != "http" {
			t.Errorf("%s: got %+v and %t, want %t with the ports as they are", name, got, found, c.found)
		}
	}
	if got, found := publish.Losses(w.state.Slices[0], nil); found {
		t.Errorf("got %+v of a slice of which nothing was decided", got)
	}
}

// TestContract222LossesAddAndMoveNothing: what they leave is in the slice already, in no
// better state, and nothing that is decided to be published leaves a slice.
func TestContract222LossesAddAndMoveNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		state := rapid.SampledFrom([]inventory.State{inventory.StateReady, inventory.StateDraining, inventory.StateDown})
		w := newWorld(rapid.IntRange(1, 4).Draw(rt, "maximum"))
		for range rapid.IntRange(1, 4).Draw(rt, "slices") {
			w.hold(drawMembers(rt, "held", state))
		}
		members := drawMembers(rt, "members", state)
		desired, _ := publish.Desired(members, w.state, w.target)
		for _, stored := range w.state.Slices {
			before := cmp.Diff(nil, []any{stored, desired}, compareAddrs())
			got, found := publish.Losses(stored, desired)
			if after := cmp.Diff(nil, []any{stored, desired}, compareAddrs()); after != before {
				rt.Fatalf("the inputs were changed")
			}
			if !found {
				got.Slice = stored
			}
			if got.Slice.Version != stored.Version || len(got.Added)+len(got.After) > 0 || found == got.Slice.Same(stored) {
				rt.Fatalf("got %+v and %t of %+v", got, found, stored)
			}
			for _, m := range got.Slice.Endpoints {
				if was := stored.StateOf(m.Address); was == inventory.Absent || was > m.State || m.State > max(was, inventory.StateOf(members, m.Address)) {
					rt.Fatalf("%s is %s, was %s", m.Address, m.State, was)
				}
			}
			for _, m := range stored.Endpoints {
				is, want := got.Slice.StateOf(m.Address), inventory.StateOf(members, m.Address)
				if (is == inventory.Absent) != (want == inventory.Absent) || want != inventory.Absent && is < want {
					rt.Fatalf("%s is %s, want %s", m.Address, is, want)
				}
			}
		}
	})
}
