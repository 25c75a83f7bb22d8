package cluster_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// TestContract170OfServicesInAListThatIsNotCompleteABoundedPartIsHeld: 500 of 85 KiB each, and then
// one that says little.
func TestContract170OfServicesInAListThatIsNotCompleteABoundedPartIsHeld(t *testing.T) {
	hub := newWorld().hub(t, []string{"evil"})
	reduce, complete := cluster.Listing(hub)
	before := memory.Live()
	held := make([]any, 0, 501)
	for i := range cap(held) - 1 {
		held = append(held, reduce(fat("evil", fmt.Sprintf("s%03d", i), 300)))
	}
	held = append(held, reduce(serviceOf("evil", "web")))
	if more := memory.Live() - before; more > 20<<20 {
		t.Errorf("%d KiB of a list are in use, want 20 MiB at the most", more>>10)
	} else {
		t.Logf("%d KiB of a list are in use", more>>10)
	}
	complete(held)
	var known []string
	snapshot := hub.Local()
	for _, s := range snapshot.Services {
		known = append(known, s.Key.Service)
	}
	if len(known) < 30 || len(known) > 60 || known[len(known)-1] != "web" {
		t.Errorf("got %d Services (%q), want as many as 4 MiB have, and the one that says little", len(known), known)
	}
	if sights := snapshot.Sights; len(sights) != 2 || !sights[1].Crowded {
		t.Errorf("got %+v, want that the namespace is crowded", sights)
	}
	runtime.KeepAlive(held)
}

// TestContract170OfSlicesInAListThatIsNotCompleteABoundedPartIsHeld: 400 with our label say five times what
// there is room for. Those of a target, the last of them, are known whole, also where it comes meanwhile.
func TestContract170OfSlicesInAListThatIsNotCompleteABoundedPartIsHeld(t *testing.T) {
	const room = 1 << 20
	inWorld(t, []string{"shop"}, func(t *testing.T, _ *world, hub *cluster.Hub) {
		synctest.Wait()
		cluster.SetRoom(hub, room)
		web := viewOf(t, hub, "shop", "web", "web.blue")
		reduce, complete := cluster.ListingSlices(hub)
		before := memory.Live()
		var held []any
		for i := range 400 {
			object := sliceOf("shop", fmt.Sprintf("x%03d", i), "x", manager, 500)
			for j := range object.Endpoints {
				object.Endpoints[j].Addresses[0] = fmt.Sprintf("10.%d.%d.%d", i%250, j/250, j%250+1+i/250)
			}
			held = append(held, reduce(object))
		}
		if more := memory.Live() - before; more > 4*room {
			t.Errorf("%d KiB of a list are in use, want %d at the most", more>>10, 4*room>>10)
		} else {
			t.Logf("%d KiB of a list are in use", more>>10)
		}
		held = append(held, reduce(sliceOf("shop", "web.blue", "web", manager, 3)), reduce(sliceOf("shop", "api.blue", "api", manager, 3)))
		api := viewOf(t, hub, "shop", "api", "api.blue")
		complete(held)
		for _, store := range []*cluster.Store{web, api} {
			if state := loaded(t, store); len(state.Slices) != 1 || len(state.Slices[0].Endpoints) != 3 {
				t.Errorf("got %+v, want the slice of the target", state.Slices)
			}
		}
	}, func(w *world) {
		for _, name := range []string{"web", "api"} {
			w.put("ADDED", serviceOf("shop", name))
			w.put("ADDED", sliceOf("shop", name+".blue", name, manager, 3))
		}
	})
}
