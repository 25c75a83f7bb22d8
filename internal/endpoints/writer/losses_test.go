package writer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// TestContract222WhatTheServerRefusesToAddHoldsUpNoDeath: of two slices with one endpoint
// each, one is to get another endpoint, 3, for which a policy has no room.
func TestContract222WhatTheServerRefusesToAddHoldsUpNoDeath(t *testing.T) {
	for name, c := range map[string]struct {
		published string
		forbids   func(publish.Write) bool
		most      int
	}{
		"an addition": {"1=ready", func(w publish.Write) bool { return slices.Contains(w.Added, address(3)) }, 1},
		"everything":  {"1=ready 2=ready", func(publish.Write) bool { return true }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, 2, func(w *world) {
				w.set(func() {
					w.write = func(_ context.Context, write publish.Write) error {
						if c.forbids(write) {
							return publish.Refused(errRefused)
						}
						return nil
					}
				})
				delete(w.members, 2)
				w.decide(inventory.StateReady, 3)
				during(time.Second / 10)
				w.wantPublished(c.published)
				during(time.Hour)
				if o := w.last(); !errors.Is(o.WriteErr, errRefused) || o.Pending != 1 {
					t.Errorf("got %v and %d pending, want the refusal of one slice", o.WriteErr, o.Pending)
				}
				// In an hour are 267 waits of 13.5 s; each is followed by the whole, and by
				// the losses where they did not land.
				if got := len(w.taken()); got < 200 || got > 280*c.most {
					t.Errorf("got %d writes in an hour", got)
				}
				w.set(func() { w.write = nil })
				during(15 * time.Second)
				w.wantPublished("1=ready 3=ready")
				if o := w.last(); o.WriteErr != nil || o.Pending != 0 {
					t.Errorf("got %v and %d pending, want that it is over", o.WriteErr, o.Pending)
				}
			})
		})
	}
}
