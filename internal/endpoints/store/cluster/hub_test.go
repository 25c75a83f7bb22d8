package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
)

func TestContract56AWatchThatIsRefusedIsToldForTheTargetsOfItsNamespace(t *testing.T) {
	inWorld(t, []string{"blog", "shop"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		w.put("ADDED", serviceOf("blog", "web"))
		w.put("ADDED", serviceOf("shop", "web"))
		blog, shop := viewOf(t, hub, "blog", "web", "web.blue"), viewOf(t, hub, "shop", "web", "web.blue")
		loaded(t, blog)
		loaded(t, shop)
		_ = news(blog.Changed()) + news(shop.Changed()) + news(hub.Changed())
		time.Sleep(10 * time.Minute)
		if n := news(blog.Changed()) + news(shop.Changed()) + news(hub.Changed()); n > 0 {
			t.Fatalf("got %d news in 10 quiet minutes, want none", n)
		}
		for _, refused := range []bool{true, false} {
			w.refuse("blog", refused)
			time.Sleep(90 * time.Second)
			if news(blog.Changed()) != 1 || news(hub.Changed()) != 1 {
				t.Errorf("refused %t: want one piece of news for its target and for the hub", refused)
			}
			if n := news(shop.Changed()); n > 0 {
				t.Errorf("refused %t: got %d news for the other target, want none", refused, n)
			}
			loaded(t, shop)
			state, err := blog.Load(t.Context())
			if err != nil || state.Service.UID != "s-1" || (state.Stale != nil) != refused {
				t.Errorf("refused %t: got %+v, %v", refused, state, err)
			}
			if refused && !strings.Contains(state.Stale.Error(), "of namespace blog has sent no event since") {
				t.Errorf("got %v, want the namespace and since when", state.Stale)
			}
			for _, sight := range hub.Local().Sights {
				if want := refused && sight.Namespace == "blog"; !sight.Complete || (sight.Err != nil) != want {
					t.Errorf("refused %t: got %+v", refused, sight)
				}
			}
		}
	})
}

func TestContract56ANamespaceWithoutRightsIsAskedRarelyAndFollowedSoonAfterItHasThem(t *testing.T) {
	inWorld(t, []string{"blog", "shop", "wiki"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		w.refuse("blog", true)
		w.refuse("shop", true)
		stayWanted(hub, 10, "blog", "shop")
		before := w.requests("shop")
		stayWanted(hub, 10, "blog", "shop")
		if got := w.requests("shop") - before; got < 40 || got > 120 {
			t.Errorf("got %d requests in 10 minutes, want one in 10 to 30 s for each of two watches", got)
		}
		stale := func() (names []string) {
			synctest.Wait()
			for _, sight := range hub.Local().Sights {
				if sight.Err != nil {
					names = append(names, sight.Namespace)
				}
			}
			return names
		}
		if got := stale(); !slices.Equal(got, []string{"blog", "shop"}) {
			t.Fatalf("got %q stale, want the namespaces without rights", got)
		}
		w.refuse("blog", false)
		w.refuse("shop", false)
		waited := time.Now()
		for len(stale()) == 2 {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(waited); took > 31*time.Second {
			t.Errorf("the first namespace is read again after %v, want 30 s at most", took)
		}
		time.Sleep(time.Second)
		if got := stale(); len(got) > 0 {
			t.Errorf("%q are still not read a second after the first was", got)
		}
	})
}

// TestContract56ARightToListWithoutOneToWatchWakesNoOtherWatch: each of these namespaces
// would wake the others with every list, for ever.
func TestContract56ARightToListWithoutOneToWatchWakesNoOtherWatch(t *testing.T) {
	const most = 1000 // so that the test ends
	inWorld(t, []string{"blog", "shop", "wiki"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		stayWanted(hub, 20, "blog", "shop")
		if got := w.requests("shop"); got < 200 || got > 900 {
			t.Errorf("got %d requests in 20 minutes, want three in 10 to 30 s for each of two watches", got)
		}
	}, func(w *world) {
		w.refuse("blog", true)
		w.refuse("shop", true)
		w.listable = map[string]int{"blog": most, "shop": most}
	})
}

// TestContract56ASliceThatCannotBeReadDelaysOnlyItsOwnTarget: the writes of seventy
// slices of one target and of one slice of another failed, and the API server answers
// only about that one.
func TestContract56ASliceThatCannotBeReadDelaysOnlyItsOwnTarget(t *testing.T) {
	inWorld(t, []string{"shop"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		w.put("ADDED", serviceOf("shop", "web"))
		w.writes, w.mute = http.StatusInternalServerError, "web.blue"
		stuck, free := viewOf(t, hub, "shop", "web", "web.blue"), viewOf(t, hub, "shop", "api", "api.blue")
		loaded(t, free)
		for i := range 71 {
			store, write := stuck, createOf("web.blue")
			if i > 1 {
				write.Slice.Name += fmt.Sprintf("-%d", i)
			} else if i == 1 {
				store, write.Slice.Name = free, "api.blue"
			}
			if _, err := store.Write(t.Context(), write); err == nil {
				t.Fatal("got no error of a write that fails")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		done := make(chan publish.State)
		go func() {
			state, _ := stuck.Load(ctx)
			done <- state
		}()
		synctest.Wait() // until it reads
		began := time.Now()
		loaded(t, free)
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the other target waited %v, want not at all", waited)
		}
		if state := <-done; len(state.Unread) != 70 || state.UnreadErr == nil {
			t.Errorf("got %q unread and %v, want all seventy and why", state.Unread, state.UnreadErr)
		}
		if n := news(free.Changed()); n > 0 {
			t.Errorf("got %d news for the other target, want none", n)
		}
	})
}

func TestATargetThatTheHubCannotKeepIsRefused(t *testing.T) {
	inWorld(t, []string{"shop"}, func(t *testing.T, _ *world, hub *cluster.Hub) {
		first := viewOf(t, hub, "shop", "web", "web")
		foreign := targetOf("shop", "api", "api")
		foreign.ManagedBy = "somebody"
		for name, test := range map[string]struct {
			target publish.Target
			want   string
		}{
			"no slice name":          {targetOf("shop", "api", ""), "no slice name"},
			"another manager":        {foreign, `managed-by value "somebody"`},
			"another namespace":      {targetOf("blog", "api", "api"), "namespace blog is not watched"},
			"the same":               {targetOf("shop", "web", "web"), "slice names in common"},
			"the name of its second": {targetOf("shop", "api", "web-2"), "slice names in common"},
			"the name of its IPv6":   {targetOf("shop", "api", "web-ipv6"), "slice names in common: web and web-ipv6"},
		} {
			if _, err := hub.Target(test.target); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, want %q", name, err, test.want)
			}
		}
		first.Release()
		viewOf(t, hub, "shop", "api", "web-2")
		hub.Watch("blog")
		viewOf(t, hub, "blog", "web", "web")
	})
}

func TestSlicesOfAnotherPoolAreNotBesideOurs(t *testing.T) {
	inWorld(t, []string{"shop"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		synctest.Wait() // until the watches are open; what comes between a list and its watch is read a second later
		w.put("ADDED", serviceOf("shop", "web"))
		w.put("ADDED", sliceOf("shop", "web.green", "web", manager, 1))
		w.put("ADDED", sliceOf("shop", "web-x7f2k", "web", "somebody", 2))
		w.put("ADDED", sliceOf("blog", "web-abcde", "web", "somebody", 2))
		blue := viewOf(t, hub, "shop", "web", "web.blue")
		w.put("MODIFIED", sliceOf("shop", "web-x7f2k", "web", "somebody", 3))
		besides := func(want ...string) {
			t.Helper()
			told := news(blue.Changed())
			var got []string
			for _, one := range loaded(t, blue).Beside {
				got = append(got, one.Name)
			}
			if told == 0 || !slices.Equal(got, want) {
				t.Errorf("got %q beside ours, want %q and to be told", got, want)
			}
		}
		besides("web-x7f2k", "web.green")
		green := viewOf(t, hub, "shop", "web", "web.green")
		besides("web-x7f2k")
		if state := loaded(t, green); len(state.Slices) != 1 || len(state.Beside) != 1 {
			t.Errorf("got %+v, want its own slice and the foreign one", state)
		}
		w.put("MODIFIED", sliceOf("shop", "web-x7f2k", "api", "somebody", 2))
		besides()
		w.put("ADDED", sliceOf("shop", "api.blue", "web", manager, 3))
		besides("api.blue")
		viewOf(t, hub, "shop", "api", "api.blue") // it refuses the slice, which still serves web
		green.Release()
		besides("api.blue", "web.green")
		_ = news(green.Changed())
		w.put("MODIFIED", sliceOf("shop", "web.green", "web", manager, 4))
		_ = news(blue.Changed())
		if n := news(green.Changed()); n > 0 {
			t.Errorf("got %d news for a released view, want none", n)
		}
	})
}

func TestASnapshotSaysWhichServicesThereAreAndWhatWasPublished(t *testing.T) {
	inWorld(t, []string{"blog", "shop"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		time.Sleep(time.Minute)
		annotated := serviceOf("shop", "web")
		annotated.Annotations = map[string]string{"endpoints.ablmnzde.github.io/pool": "blue", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
		annotated.Labels = map[string]string{"team": "edge"}
		told := func(object any, kind string, want int) {
			t.Helper()
			_ = news(hub.Changed())
			w.put(kind, object)
			if got := news(hub.Changed()); got != want {
				t.Errorf("%s %T: got %d news, want %d", kind, object, got, want)
			}
		}
		told(annotated.DeepCopy(), "ADDED", 1)
		told(serviceOf("shop", "api"), "ADDED", 1)
		annotated.Status.LoadBalancer.Ingress = nil
		annotated.Annotations["other"] = "x"
		told(annotated.DeepCopy(), "MODIFIED", 0)
		annotated.Annotations["endpoints.ablmnzde.github.io/pool"] = "green"
		told(annotated.DeepCopy(), "MODIFIED", 1)
		ours := sliceOf("shop", "web.blue", "web", manager, 1)
		ours.Labels["endpoints.ablmnzde.github.io/pool"] = "blue"
		ours.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(30080))}}
		foreign := sliceOf("shop", "web.red", "web", "somebody", 1)
		foreign.Labels["endpoints.ablmnzde.github.io/pool"] = "red"
		for _, object := range []*discoveryv1.EndpointSlice{foreign, ours, sliceOf("shop", "web", "web", manager, 1)} {
			told(object, "ADDED", 0)
		}

		got := hub.Local()
		var names []string
		for _, service := range got.Services {
			names = append(names, service.Key.String())
		}
		if want := []string{"shop/api", "shop/web"}; !slices.Equal(names, want) {
			t.Fatalf("got the Services %q, want %q", names, want)
		}
		web := got.Services[1]
		if diff := cmp.Diff(map[string]string{"endpoints.ablmnzde.github.io/pool": "green"}, web.Annotations); diff != "" || web.UID != "s-1" {
			t.Errorf("got %+v, annotations differ (-want +got):\n%s", web, diff)
		}
		key := assign.Key{Namespace: "shop", Service: "web"}
		if diff := cmp.Diff([]assign.PublishedSlice{
			{Key: key, Slice: "web", Endpoints: 1},
			{Key: key, Slice: "web.blue", Pool: "blue", Endpoints: 1, Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 30080}}},
		}, got.Published, cmpopts.IgnoreFields(assign.PublishedSlice{}, "Addresses"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("what was published differs (-want +got):\n%s", diff)
		}
		if all := got.Published[0].Addresses(); len(all) != 1 {
			t.Errorf("got the addresses %v, want one", all)
		}
		for _, sight := range got.Sights {
			if seen := sight.Namespace == "shop"; sight.Complete != seen || (sight.Err == nil) != seen {
				t.Errorf("got %+v, want that only namespace blog is not seen, and why", sight)
			}
		}
		w.refuse("blog", false)
		time.Sleep(time.Minute)
		if sights := hub.Local().Sights; !sights[0].Complete || sights[0].Err != nil || news(hub.Changed()) == 0 {
			t.Errorf("got %+v, want to be told that namespace blog is seen", sights)
		}
		told(annotated, "DELETED", 1)
	}, func(w *world) { w.refuse("blog", true) })
}
