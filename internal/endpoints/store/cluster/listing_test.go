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
