package pool_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// decided is a verdict with endpoints in those states, all watched, and watches
// of more.
func decided(states map[int]inventory.State, watched ...int) *guard.Verdict {
	v := &guard.Verdict{}
	for o, state := range states {
		v.Members = append(v.Members, inventory.Member{Address: address(o), State: state})
		watched = append(watched, o)
	}
	for _, o := range watched {
		v.Watch = append(v.Watch, inventory.Watch{Address: address(o)})
	}
	slices.SortFunc(v.Members, inventory.CompareMembers)
	slices.SortFunc(v.Watch, func(a, b inventory.Watch) int { return a.Address.Compare(b.Address) })
	return v
}

type states = map[int]inventory.State

const (
	ready    = inventory.StateReady
	draining = inventory.StateDraining
	down     = inventory.StateDown
)

func TestContract26WhatWaitsForAFirstCheck(t *testing.T) {
	before := states{2: ready, 4: draining, 6: down}
	for name, c := range map[string]struct {
		after     states
		watched   []int
		unchecked []int
		waits     bool
	}{
		"nothing is new":                           {before, nil, []int{2, 4, 6}, false},
		"a new one that was checked":               {before, []int{3}, nil, false},
		"a new one before all others":              {before, []int{1}, []int{1}, true},
		"a new one between":                        {before, []int{3}, []int{3}, true},
		"a new one after all others":               {before, []int{9}, []int{9}, true},
		"one of two new ones":                      {before, []int{1, 9}, []int{9}, true},
		"one goes, one comes":                      {states{4: draining, 6: down, 2: draining}, []int{3}, []int{3}, true},
		"one comes back":                           {states{2: ready, 4: draining, 6: ready}, []int{3}, []int{3}, true},
		"one that was down is gone":                {states{2: ready, 4: draining}, []int{3}, []int{3}, true},
		"a ready one is down":                      {states{2: down, 4: draining, 6: down}, []int{3}, []int{3}, false},
		"a draining one is down":                   {states{2: ready, 4: down, 6: down}, []int{3}, []int{3}, false},
		"a ready one is gone":                      {states{4: draining, 6: down}, []int{3}, []int{3}, false},
		"a draining one is gone":                   {states{2: ready, 6: down}, []int{3}, []int{3}, false},
		"a ready one is gone, others are in front": {states{1: ready, 4: draining, 6: down}, []int{3}, []int{3}, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			p := pool.NewPublisher(200*time.Millisecond, decided(before))
			unchecked := func(a netip.Addr) bool {
				return slices.ContainsFunc(c.unchecked, func(o int) bool { return address(o) == a })
			}
			v := decided(c.after, c.watched...)
			got := p.Offer(v, unchecked, now)
			if waits := got == nil; waits != c.waits {
				t.Fatalf("got that it waits: %t, want %t", waits, c.waits)
			}
			if !c.waits {
				if got != v || !p.Deadline().IsZero() {
					t.Errorf("got %p and a deadline at %s, want %p and none", got, p.Deadline(), v)
				}
				return
			}
			if at := p.Deadline().Sub(now); at != 200*time.Millisecond {
				t.Errorf("it waits for %s", at)
			}
			if got := p.Offer(v, unchecked, now.Add(200*time.Millisecond-1)); got != nil {
				t.Error("it did not wait to the end")
			}
			if got := p.Offer(v, func(netip.Addr) bool { return false }, now.Add(time.Millisecond)); got != v {
				t.Error("it waits although all was checked")
			}
		})
	}
}

func TestContract26TheWaitForAFirstCheckHasAnEndThatNoNewcomerMoves(t *testing.T) {
	const grace = 200 * time.Millisecond
	never := func(netip.Addr) bool { return true }
	start := time.Now()
	p := pool.NewPublisher(grace, decided(states{1: ready}))
	var watched []int
	for i := range 19 { // every 10 ms another newcomer that is never checked
		watched = append(watched, 10+i)
		if got := p.Offer(decided(states{1: ready}, watched...), never, start.Add(time.Duration(i)*10*time.Millisecond)); got != nil {
			t.Fatalf("newcomer %d: published before the end", i)
		}
		if got := p.Deadline().Sub(start); got != grace {
			t.Fatalf("newcomer %d: the end moved to %s", i, got)
		}
	}
	v := decided(states{1: ready}, append(watched, 99)...)
	if got := p.Offer(v, never, start.Add(grace)); got != v {
		t.Fatal("not published at the end")
	}
	// Each of them was waited for once.
	if got := p.Offer(decided(states{1: ready, 2: ready}, append(watched, 99)...), func(a netip.Addr) bool { return a != address(2) }, start.Add(grace+1)); got == nil {
		t.Error("newcomers were waited for again")
	}
	// And the next one has a wait of its own.
	if got := p.Offer(decided(states{1: ready, 2: ready}, append(watched, 99, 100)...), never, start.Add(time.Second)); got != nil {
		t.Error("a later newcomer was not waited for")
	}
	if got := p.Deadline().Sub(start); got != time.Second+grace {
		t.Errorf("its wait ends after %s, want %s", got, time.Second+grace)
	}
	// A loss ends it.
	v = decided(states{1: down}, append(watched, 99, 100)...)
	if got := p.Offer(v, never, start.Add(time.Second+1)); got != v {
		t.Error("a loss waited for a newcomer")
	}
}
