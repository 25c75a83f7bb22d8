package cluster_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
)

// TestContract173ANamespaceThatNobodyWantsIsWatchedNoMore: unless a target is in it.
func TestContract173ANamespaceThatNobodyWantsIsWatchedNoMore(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world, hub *cluster.Hub) {
		hub.Watch("blog")
		hub.Watch("cart")
		w.put("ADDED", serviceOf("blog", "web"))
		time.Sleep(time.Minute)
		view := viewOf(t, hub, "cart", "web", "web.blue")
		watched := func() (all []string) {
			synctest.Wait()
			for _, sight := range hub.Local().Sights {
				all = append(all, sight.Namespace)
			}
			return all
		}
		time.Sleep(cluster.Unwanted + time.Minute)
		if got := watched(); !slices.Equal(got, []string{"cart"}) {
			t.Errorf("got watches of %q, want that of the target", got)
		}
		before := w.requests("blog")
		time.Sleep(10 * time.Minute)
		if got := w.requests("blog") - before; got != 0 {
			t.Errorf("got %d requests for a namespace that nobody wants", got)
		}
		view.Release()
		time.Sleep(time.Minute)
		if got := watched(); len(got) > 0 {
			t.Errorf("got watches of %q after the target has gone", got)
		}
		hub.Watch("blog")
		time.Sleep(time.Minute)
		for range 20 {
			hub.Watch("blog")
			time.Sleep(time.Minute)
		}
		if got := hub.Local().Services; len(got) != 1 || got[0].Namespace != "blog" {
			t.Errorf("got %d Services, want that of the namespace that is wanted again", len(got))
		}
	})
}
