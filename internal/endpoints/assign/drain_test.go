package assign_test

import (
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
