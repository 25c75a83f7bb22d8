package controller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestContract13WhatANewServiceWasGivenStaysWhileInventoriesAreRejected: since a restart the source
// lists nothing, so only slices speak for the endpoints. A Service that is new gets them, because
// it has nothing else. Then an inventory comes that lists one of them, and is rejected.
func TestContract13WhatANewServiceWasGivenStaysWhileInventoriesAreRejected(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var all []string
		for i := 1; i <= 7; i++ {
			all = append(all, fmt.Sprintf("10.0.0.%d", i))
		}
		w.pool("blue", all...)
		pools, web, late := poolOf("blue", "10.0.0.0/24"), bindingOf("shop/web", "blue"), bindingOf("shop/late", "blue")
		w.service("shop/web", "http:8080")
		w.documents(pools, web)
		w.start()
		during(time.Minute)
		w.pool("blue")
		w.restart()
		during(time.Minute)
		w.service("shop/late", "http:8080")
		w.documents(pools, web, late)
		during(time.Minute)
		for _, step := range [][]string{nil, all[:1], all} {
			w.pool("blue", step...)
			during(2 * worldPoll)
			for _, service := range []string{"shop/web", "shop/late"} {
				if got := w.usable(service); len(got) != len(all) {
					t.Errorf("with %d nodes in the inventory %s has %v, want all %d", len(step), service, got, len(all))
				}
			}
		}
		w.stop()
	})
}
