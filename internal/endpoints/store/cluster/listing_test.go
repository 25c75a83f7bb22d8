package cluster_test

import (
	"fmt"
	"runtime"
	"testing"

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

// TestContract170OfSlicesInAListThatIsNotCompleteABoundedPartIsHeld: 300 of 1,000 endpoints that no
// target owns, and one that got an owner while they came.
func TestContract170OfSlicesInAListThatIsNotCompleteABoundedPartIsHeld(t *testing.T) {
	w := newWorld()
	hub := w.hub(t, []string{"evil"})
	reduce, complete := cluster.ListingSlices(hub)
	before := memory.Live()
	var held []any
	for i := range 300 {
		object := sliceOf("evil", fmt.Sprintf("x%03d", i), "x", manager, 1000)
		for j := range object.Endpoints {
			object.Endpoints[j].Zone = new(fmt.Sprintf("%-200d", i))
		}
		object.ResourceVersion = "1"
		held = append(held, reduce(object))
	}
	if more := memory.Live() - before; more > 12<<20 {
		t.Errorf("%d KiB of a list are in use, want 12 MiB at the most", more>>10)
	} else {
		t.Logf("%d KiB of a list are in use", more>>10)
	}
	store := viewOf(t, hub, "evil", "x", "x299")
	complete(held)
	if got := len(hub.Local().Published); got != 300 {
		t.Errorf("got %d slices that are published, want 300", got)
	}
	if marks := cluster.Dirty(hub, store); marks != 1 {
		t.Errorf("got %d slices of the target that are read again, want 1", marks)
	}
	runtime.KeepAlive(held)
}
