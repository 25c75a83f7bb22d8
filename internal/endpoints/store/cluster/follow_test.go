package cluster_test

import (
	"testing"
	"testing/synctest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
)

// Contract 52: whoever follows a store needs no goroutine for it, and misses nothing.
func TestContract52AFollowerIsCalledForAllThatChanges(t *testing.T) {
	inWorld(t, []string{"shop"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		w.put("ADDED", serviceOf("shop", "web"))
		store := viewOf(t, hub, "shop", "web", "web.blue")
		loaded(t, store)
		_ = news(store.Changed())
		w.put("ADDED", sliceOf("shop", "web.blue", "web", manager, 1))
		synctest.Wait()

		calls := 0
		store.Follow(func() { calls++ })
		if calls != 1 {
			t.Errorf("what changed before: got %d calls, want 1", calls)
		}
		w.put("MODIFIED", sliceOf("shop", "web.blue", "web", manager, 2))
		if n := news(store.Changed()); n != 0 || calls != 2 {
			t.Errorf("another change: got %d calls and %d news, want 2 and none", calls, n)
		}
		store.Release()
		w.put("MODIFIED", sliceOf("shop", "web.blue", "web", manager, 3))
		if synctest.Wait(); calls != 2 {
			t.Errorf("after the end: got %d calls, want 2", calls)
		}
	})
}
