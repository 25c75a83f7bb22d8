package assign_test

import (
	"iter"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
)

// drained is a world in which blue drains, because green has taken over.
func drained(t *testing.T) *world {
	w := filled(t, "shop/a")
	w.in.Bindings[0] = binding("shop/a", "green")
	return w.after(time.Second).after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 draining")
}

// TestContract202WhatIsReadyAgainDrainsAnew: the binding is deleted while blue drains, or has a
// mistake, so blue is ready again. When the binding is back, the drain period begins anew.
func TestContract202WhatIsReadyAgainDrainsAnew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		broken    []assign.BrokenBinding
		meanwhile []string
	}{
		"the binding is deleted": {nil, []string{"shop/a green:30080 leaving", "shop/a blue:30080 leaving"}},
		"it has a mistake": {
			[]assign.BrokenBinding{{Key: key("shop/a"), Mistakes: "a mistake"}}, []string{"shop/a green:30080 active", "shop/a blue:30080 active"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := drained(t)
			bindings := w.in.Bindings
			w.in.Bindings, w.in.Broken = nil, c.broken
			w.after(time.Second).after(v1alpha1.DefaultDrainPeriod).want(c.meanwhile...)
			w.in.Bindings, w.in.Broken = bindings, nil
			w.after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 draining")
			w.after(v1alpha1.DefaultDrainPeriod-1).want("shop/a green:30080 active", "shop/a blue:30080 draining")
			w.after(1).want("shop/a green:30080 active", "shop/a blue:30080 emptied")
		})
	}
}

// TestContract202ADrainGoesOnWhileTheSlicesAreReadAnew, as where the documents changed what else the
// Service has. Nothing is emptied before it is known that the new is stored.
func TestContract202ADrainGoesOnWhileTheSlicesAreReadAnew(t *testing.T) {
	t.Parallel()
	w := drained(t)
	w.in.Stored = func(assign.Key, string) (iter.Seq[netip.Addr], bool) { return nil, false }
	w.in.Drains = func(assign.Key, string) bool { return false }
	w.after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 draining")
	w.after(time.Hour).want("shop/a green:30080 active", "shop/a blue:30080 draining")
	w.in.Stored, w.in.Drains = w.stored, w.drains
	w.after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 emptied")
}

// TestContract202ADrainEndsOnlyWhereTheNewIsKnownToWork: the group of the new began anew and has
// not checked everything, as where it follows a remote Service that cannot be read.
func TestContract202ADrainEndsOnlyWhereTheNewIsKnownToWork(t *testing.T) {
	t.Parallel()
	w := drained(t)
	w.unready[tcp("green", 30080)] = true
	w.after(time.Hour).want("shop/a green:30080 active", "shop/a blue:30080 draining")
	if next := w.plan.Next; !next.IsZero() && !next.After(w.in.Now) {
		t.Errorf("got the next change at %v, which is over", next)
	}
	w.unready[tcp("green", 30080)] = false
	w.passing[tcp("green", 30080)] = assign.Count{} // it died meanwhile
	w.after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 leaving")
}

// TestContract32AJumpOfTheClockEndsNoDrainThatGoesOn: when it began is a time of day, as slices say
// it. What follows is measured by the clock that cannot be set.
func TestContract32AJumpOfTheClockEndsNoDrainThatGoesOn(t *testing.T) {
	t.Parallel()
	w := drained(t)
	w.in.Now = time.Now()
	began := w.in.Now.Round(0).Add(-10 * time.Second)
	for i := range w.in.Published {
		w.in.Published[i].Changed = began
	}
	w.restart().after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 draining")
	got := w.plan.Targets[0].Uses[1].Until
	if want := began.Add(v1alpha1.DefaultDrainPeriod); !got.Equal(want) || !strings.Contains(got.String(), " m=") {
		t.Errorf("got that it drains until %v, want %v by the monotonic clock", got, want)
	}
}
