package writer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// TestContract171WhatTheServerStoredOtherwiseIsTriedRarelyAndToldAsItIs: a policy of the API
// server makes each endpoint ready.
func TestContract171WhatTheServerStoredOtherwiseIsTriedRarelyAndToldAsItIs(t *testing.T) {
	in(t, 2, func(w *world) {
		changes := func(_ context.Context, write publish.Write) error {
			for _, object := range w.store.Slices() {
				if object.Name == write.Slice.Name && !*object.Endpoints[0].Conditions.Ready {
					object.Endpoints[0].Conditions.Ready = new(true)
					w.store.Put(object)
					return fmt.Errorf("%w: by a policy", publish.ErrStoredOtherwise)
				}
			}
			return nil
		}
		w.set(func() { w.after = changes })
		w.decide(inventory.StateDown, 1)
		during(time.Hour)
		o := w.last()
		if !errors.Is(o.WriteErr, publish.ErrStoredOtherwise) || o.Pending != 1 {
			t.Errorf("got %v and %d pending, want that one slice is stored otherwise", o.WriteErr, o.Pending)
		}
		if state := o.State.Slices[0].Drift; state == "" {
			t.Errorf("got %+v, want the slice as it is stored", o.State.Slices[0])
		}
		if got := len(w.taken()); got < 10 || got > 25 {
			t.Errorf("got %d writes in an hour, want some, ever more rarely", got)
		}
		w.rezone("b")
		during(time.Second / 2)
		if got := len(w.taken()); got != 2 {
			t.Errorf("got %d writes at once of a change of both slices, want 2", got)
		}
		w.set(func() { w.after = nil })
		during(6 * time.Minute)
		if o := w.last(); o.WriteErr != nil || o.Pending != 0 || w.published() != "1=down 2=ready" {
			t.Errorf("got %v, %d pending, %s, want that it is over", o.WriteErr, o.Pending, w.published())
		}
	})
}
