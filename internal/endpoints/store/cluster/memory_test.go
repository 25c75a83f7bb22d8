package cluster_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

const others = "endpointslice-controller.k8s.io"

// TestContract57OfASliceOnlyWhatIsNeededIsKept: as an object a slice of 100 endpoints
// takes more than 20 kB. Slices that publish the same keep that once (contract 96). It is
// measured in a process of its own: what earlier tests leave goes at any time.
func TestContract57OfASliceOnlyWhatIsNeededIsKept(t *testing.T) {
	const child = "TEST_MEMORY_CHILD"
	if os.Getenv(child) == "" {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
		command.Env = append(os.Environ(), child+"=true")
		if out, err := command.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Errorf("in a process of its own: %v\n%s", err, out)
		}
		return
	}
	for managedBy, most := range map[string]int{manager: 3000, others: 1300} {
		var few int
		var used func() int
		for _, slices := range []int{1, 50, 250} { // the first one makes what a process has once: caches of types, say
			if used != nil {
				few = used()
			}
			var end func()
			used, end = memoryOf(t, slices, 100, managedBy)
			defer end() // not earlier: what goes meanwhile would be missing in the next figure
		}
		// What made the list may hold it a little longer than the watch needs to begin.
		each := (used() - few) / 200
		for deadline := time.Now().Add(waitLimit); each > most && time.Now().Before(deadline); {
			each = (used() - few) / 200
		}
		if t.Logf("%s: %d bytes", managedBy, each); each > most {
			t.Errorf("got %d bytes for a slice of %s and its Service, want at most %d", each, managedBy, most)
		}
	}
}

// BenchmarkMemory measures what is kept of 1,000 targets, and of a cluster with 10,000
// other slices.
func BenchmarkMemory(b *testing.B) {
	for name, size := range map[string]struct {
		slices, endpoints int
		manager           string
	}{
		"ours/1000x100":    {1000, 100, manager},
		"others/10000x010": {10_000, 10, others},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				used, end := memoryOf(b, size.slices, size.endpoints, size.manager)
				b.ReportMetric(float64(used())/1e6, "MB")
				end()
			}
		})
	}
}

// memoryOf returns what says how much is in use for a hub that watches so many slices, each of
// a Service of its own, with a view of each that is ours; and what ends it.
func memoryOf(t testing.TB, many, endpoints int, managedBy string) (used func() int, end func()) {
	t.Helper()
	w := newWorld()
	for i := range many {
		service := fmt.Sprintf("web-%d", i)
		w.put("ADDED", serviceOf("shop", service))
		w.put("ADDED", sliceOf("shop", service+".blue", service, managedBy, endpoints))
	}
	before := memory.Live()
	hub := w.hub(t, []string{"shop"})
	stop := run(t, hub)
	targets := 1
	if managedBy == manager {
		targets = many
	}
	var stores []*cluster.Store
	for i := range targets {
		service := fmt.Sprintf("web-%d", i)
		store := viewOf(t, hub, "shop", service, service+".blue")
		if state, err := store.Load(t.Context()); err != nil || len(state.Slices)+len(state.Refused) != 1 {
			t.Fatalf("got %+v and %v, want one slice", state, err)
		}
		stores = append(stores, store)
	}
	w.awaitWatches(t, 2) // until then the first lists are in use
	return func() int { return memory.Live() - before }, func() {
		stop()
		runtime.KeepAlive(w)
		runtime.KeepAlive(stores)
	}
}
