package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// fat is a Service of a team that says as much as an API server takes, or more.
func fat(namespace, name string, ports int) *corev1.Service {
	object := serviceOf(namespace, name)
	object.Labels, object.Annotations = map[string]string{}, map[string]string{}
	for i := range 8 {
		object.Labels[fmt.Sprint("label-", i)] = name + strings.Repeat("l", 5_000)
		object.Annotations[fmt.Sprint(v1alpha1.GroupName, "/unknown-", i)] = name + strings.Repeat("u", 2_000)
	}
	for _, known := range append(v1alpha1.BindingAnnotations(), v1alpha1.ViewAnnotations()...) {
		object.Annotations[known] = name + strings.Repeat("v", 2_000)
	}
	object.Spec.Ports = nil
	for i := range ports {
		object.Spec.Ports = append(object.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint(name, "-", strings.Repeat("p", 40), i), Port: int32(i + 1), AppProtocol: new(name + strings.Repeat("q", 250))})
	}
	return object
}

// TestContract170OfAServiceOnlyWhatIsReadIsKept: 100 Services that say 80 KB each.
func TestContract170OfAServiceOnlyWhatIsReadIsKept(t *testing.T) {
	for name, told := range map[string]bool{"by the first list": false, "by the watch": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			hub := w.hub(t, []string{"evil"})
			fill := func() {
				for i := range 100 {
					w.put("ADDED", fat("evil", fmt.Sprintf("s%03d", i), 1))
				}
			}
			if !told {
				fill()
			}
			stop := run(t, hub)
			defer stop()
			w.awaitWatches(t, 2)
			if told {
				fill()
			}
			size := 0
			for deadline := time.Now().Add(waitLimit); len(hub.Local().Services) < 100; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("got %d Services, want 100", len(hub.Local().Services))
				}
			}
			for _, service := range hub.Local().Services {
				for name, value := range service.Annotations {
					size += len(name) + len(value)
				}
			}
			if size > 100*2500 {
				t.Errorf("got %d bytes of annotations of 100 Services, want at most 2500 of each", size)
			}
		})
	}
}

// decoded is what is decoded of the annotations of a Service.
func decoded(annotations ...map[string]string) map[string]string {
	all := make(map[string]string)
	for _, some := range annotations {
		for _, name := range slices.Sorted(maps.Keys(some)) {
			if most := cluster.MostOfAnnotation([]byte(name), len(all)); most > 0 {
				all[name] = some[name][:min(most, len(some[name]))]
			}
		}
	}
	return all
}

// TestContract170OfAnnotationsThatNobodyKnowsSomeAreDecoded: however many there are, and all
// that are known.
func TestContract170OfAnnotationsThatNobodyKnowsSomeAreDecoded(t *testing.T) {
	told := map[string]string{"other": "x", corev1.AnnotationTopologyMode: "Auto"}
	for i := range 1000 {
		told[fmt.Sprint(v1alpha1.GroupName, "/a", i)] = strings.Repeat("v", 300)
	}
	for _, name := range append(v1alpha1.BindingAnnotations(), v1alpha1.ViewAnnotations()...) {
		told[name] = "x"
	}
	got := decoded(told)
	if len(got) > 40 || got[corev1.AnnotationTopologyMode] != "Auto" {
		t.Errorf("got %d annotations, want at most 40", len(got))
	}
	for name, value := range told {
		if value == "x" && name != "other" && got[name] != "x" {
			t.Errorf("%s is not decoded", name)
		}
	}
}

// TestContract170ALookAtAnAnnotationTakesNoMemory: a Service has thousands, whose names others
// choose.
func TestContract170ALookAtAnAnnotationTakesNoMemory(t *testing.T) {
	for _, name := range [][]byte{[]byte(v1alpha1.AnnotationHealthCheckExpectedStatus), []byte(v1alpha1.GroupName + "/" + strings.Repeat("x", 63))} {
		if got := testing.AllocsPerRun(100, func() { cluster.MostOfAnnotation(name, 100) }); got != 0 {
			t.Errorf("%s: got %v allocations, want none", name, got)
		}
	}
}

// TestContract170WhatIsAcceptedIsKeptWhole: and what is too long, or unknown, is still told.
func TestContract170WhatIsAcceptedIsKeptWhole(t *testing.T) {
	inWorld(t, []string{"shop"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		longest := map[string]string{
			v1alpha1.AnnotationPool: strings.Repeat("p", 63), v1alpha1.AnnotationHealthCheckMode: "HTTPS",
			v1alpha1.AnnotationHealthCheckPath: "/" + strings.Repeat("a", 255), v1alpha1.AnnotationHealthCheckPort: "65535",
			v1alpha1.AnnotationHealthCheckHost:           strings.TrimSuffix(strings.Repeat(strings.Repeat("h", 62)+".", 4), "."),
			v1alpha1.AnnotationHealthCheckExpectedStatus: "200" + strings.Repeat(",200", 63),
		}
		object := serviceOf("shop", "web")
		object.Annotations = decoded(longest, map[string]string{v1alpha1.GroupName + "/pol": "x"})
		object.Annotations["other"] = "x"
		w.put("ADDED", object)
		tooLong := serviceOf("shop", "long")
		tooLong.Annotations = decoded(map[string]string{v1alpha1.AnnotationHealthCheckPath: "/" + strings.Repeat("a", 300)})
		w.put("ADDED", tooLong)
		time.Sleep(time.Minute)
		synctest.Wait()
		services := hub.Local().Services
		want := maps.Clone(longest)
		want[v1alpha1.GroupName+"/pol"] = ""
		if diff := cmp.Diff(want, services[1].Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
		for path, accepted := range map[string]bool{
			longest[v1alpha1.AnnotationHealthCheckPath]: true, services[0].Annotations[v1alpha1.AnnotationHealthCheckPath]: false,
		} {
			document := documents.Decode("a", fmt.Appendf(nil, `{"apiVersion":%q,"kind":"EndpointBinding","metadata":{"name":"web","namespace":"shop"},"spec":{"pools":[{"name":"blue"}],"healthCheck":{"mode":"HTTP","path":%q}}}`, v1alpha1.APIVersion, path))[0]
			if (len(document.Mistakes) == 0) != accepted {
				t.Errorf("a path of %d bytes: got %v, want accepted %v", len(path), document.Mistakes, accepted)
			}
		}
	})
}

// TestContract170ANamespaceHasABound: what is known stays, the others are missing, and the
// namespace says so. A target's own Service is known in any case.
func TestContract170ANamespaceHasABound(t *testing.T) {
	inWorld(t, []string{"evil", "shop"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		w.put("ADDED", serviceOf("evil", "small"))
		w.put("ADDED", serviceOf("shop", "web"))
		for i := range 60 {
			w.put("ADDED", fat("evil", fmt.Sprintf("s%03d", i), 300))
		}
		synctest.Wait()
		known := func() (names []string, crowded error) {
			time.Sleep(time.Minute)
			synctest.Wait()
			snapshot := hub.Local()
			for _, s := range snapshot.Services {
				if len(s.Ports) > 256 {
					t.Errorf("got %d ports of Service %s", len(s.Ports), s.Key)
				}
				names = append(names, s.Key.String())
			}
			for _, sight := range snapshot.Sights {
				if sight.Crowded && sight.Namespace == "evil" {
					crowded = sight.Err
				}
			}
			return names, crowded
		}
		names, crowded := known()
		if len(names) > 50 || !slices.Contains(names, "evil/small") || !slices.Contains(names, "shop/web") || slices.Contains(names, "evil/s059") || crowded == nil {
			t.Fatalf("got %d Services (%q), %v", len(names), names, crowded)
		}
		t.Log("a target that fills one of the others")
		viewOf(t, hub, "evil", "s059", "s059.blue")
		if names, _ = known(); !slices.Contains(names, "evil/s059") || !slices.Contains(names, "evil/small") {
			t.Errorf("got %q, want the Service of the target, too", names)
		}
		t.Log("room again")
		for i := range 58 {
			w.put("DELETED", fat("evil", fmt.Sprintf("s%03d", i), 1))
		}
		if names, crowded = known(); len(names) != 4 || crowded != nil {
			t.Errorf("got %q, %v, want all four", names, crowded)
		}
	})
}

// TestContract224ATargetBeyondTheBoundHasThePortsOfItsSlices: there are more targets than
// there is room for, as after a restart.
func TestContract224ATargetBeyondTheBoundHasThePortsOfItsSlices(t *testing.T) {
	const all = 100
	name := func(i int) string { return fmt.Sprintf("s%03d", i) }
	inWorld(t, []string{"full"}, func(t *testing.T, _ *world, hub *cluster.Hub) {
		synctest.Wait()
		var stores []*cluster.Store
		for i := range all {
			stores = append(stores, viewOf(t, hub, "full", name(i), name(i)+".blue"))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		known := map[string]bool{}
		for _, s := range hub.Local().Services {
			known[s.Key.Service] = true
		}
		if len(known) < 60 || len(known) == all {
			t.Errorf("got %d Services with annotations, want those of 8 MiB", len(known))
		}
		want := []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 8080, TargetPort: 8080, AppProtocol: "h2c"}}
		for i, store := range stores {
			got := loaded(t, store).Service
			if got.UID != "s-1" || !known[name(i)] && !slices.Equal(got.Ports, want) {
				t.Errorf("%s: got %.200s, want ports %v", name(i), fmt.Sprint(got), want)
			}
		}
	}, func(w *world) {
		for i := range all {
			w.put("ADDED", fat("full", name(i), 300))
			slice := sliceOf("full", name(i)+".blue", name(i), manager, 1)
			slice.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080)), AppProtocol: new("h2c")}}
			w.put("ADDED", slice)
		}
	})
}

// TestContract170ASliceWithOurLabelHasABound: of 100 slices that say 50 MB as much is kept
// as of 8 MB, and a target finds its slice as it is. While that cannot be read it is not known,
// which is not that it has no endpoints (contract 226).
func TestContract170ASliceWithOurLabelHasABound(t *testing.T) {
	inWorld(t, []string{"evil"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		synctest.Wait() // a list that comes later would leave out what only a watch told
		object := sliceOf("evil", "", "x", manager, 1000)
		object.Labels[v1alpha1.LabelPool], object.ResourceVersion = "blue", "11"
		for j := range object.Endpoints {
			object.Endpoints[j].Hostname = new(strings.Repeat("h", 300))
			object.Endpoints[j].Zone = new(strings.Repeat("z", 200))
			object.Endpoints[j].TargetRef = &corev1.ObjectReference{Name: strings.Repeat("t", 100)}
		}
		for i := range 100 {
			one := object.DeepCopy()
			one.Name, one.Annotations = fmt.Sprintf("x%02d", i), map[string]string{"a": strings.Repeat("x", 100_000)}
			one.Endpoints[0].Zone = &one.Name
			cluster.Told(hub, one)
		}
		if size := cluster.Kept(hub, "evil"); size > 9<<20 {
			t.Errorf("got %d bytes that are kept, want 9 MiB at most", size)
		}
		if got := len(hub.Local().Published); got != 100 {
			t.Errorf("got %d slices that are published, want 100", got)
		}
		object.Name = "x99"
		w.put("ADDED", serviceOf("evil", "x"))
		store := viewOf(t, hub, "evil", "x", "x99")
		w.mu.Lock()
		w.mute = "x99"
		w.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if state, err := store.Load(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "x99") {
			t.Errorf("got %v and %.500s while the slice cannot be read, want an error that names it", err, fmt.Sprint(state.Slices))
		}
		w.mu.Lock()
		w.mute = ""
		w.mu.Unlock()
		w.put("MODIFIED", object)
		state := loaded(t, store)
		if len(state.Slices) != 1 || len(state.Slices[0].Endpoints) != 1000 || !strings.Contains(state.Slices[0].Drift, "hostname") {
			t.Errorf("got %.500s", fmt.Sprint(state.Slices))
		}
	})
}

// TestContract170SlicesThatNobodyOwnsHaveABound: of ten times as many as there is room for, each
// of them small.
func TestContract170SlicesThatNobodyOwnsHaveABound(t *testing.T) {
	const room = 512 << 10
	for name, c := range map[string]struct {
		manager string
		most    int
		crowded bool
	}{
		"with our label": {manager, 2 * room, true},
		"of others":      {others, room, false},
	} {
		t.Run(name, func(t *testing.T) {
			hub := newWorld().hub(t, []string{"evil"})
			cluster.SetRoom(hub, room)
			before := memory.Live()
			for i := range 10_000 {
				cluster.Told(hub, sliceOf("evil", fmt.Sprintf("x%05d", i), fmt.Sprint("s", i), c.manager, 1))
			}
			if more := memory.Live() - before; more > c.most*5/4 || cluster.Entries(hub, "evil") < 300 {
				t.Errorf("got %d bytes more for %d slices, want %d at most", more, cluster.Entries(hub, "evil"), c.most)
			} else {
				t.Logf("%d bytes for %d slices", more, cluster.Entries(hub, "evil"))
			}
			sights := hub.Local().Sights
			if last := sights[len(sights)-1]; last.Crowded != c.crowded || c.crowded && last.Namespace != "evil" {
				t.Errorf("got %+v, want that a namespace is crowded: %v", last, c.crowded)
			}
		})
	}
}

// TestContract170ATargetFindsASliceThatWasNotKept: its slice is the last one of a list that has
// no room. Before it is known, nothing is said of it.
func TestContract170ATargetFindsASliceThatWasNotKept(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld()
		for i := range 1000 {
			w.put("ADDED", sliceOf("shop", fmt.Sprintf("x%03d", i), "x", manager, 1))
		}
		w.put("ADDED", serviceOf("shop", "z"))
		w.put("ADDED", sliceOf("shop", "z.blue", "z", manager, 3))
		w.put("ADDED", sliceOf("shop", "z.red", "z", manager, 3))
		hub := w.hub(t, []string{"shop"})
		cluster.SetRoom(hub, 128<<10)
		defer run(t, hub)()
		time.Sleep(time.Second)
		if n := cluster.Entries(hub, "shop"); n > 500 {
			t.Fatalf("%d slices were kept", n)
		}
		for _, name := range []string{"z.blue", "z.red"} {
			store := viewOf(t, hub, "shop", "z", name)
			state, err := store.Load(t.Context())
			for tries := 0; err != nil && tries < 60; tries++ {
				time.Sleep(time.Second)
				state, err = store.Load(t.Context())
			}
			if err != nil || len(state.Slices) != 1 || len(state.Slices[0].Endpoints) != 3 {
				t.Errorf("%s: got %v and %.300s, want its slice", name, err, fmt.Sprint(state.Slices))
			}
		}
		for i := range 1000 {
			w.put("DELETED", sliceOf("shop", fmt.Sprintf("x%03d", i), "x", manager, 1))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if sights := hub.Local().Sights; len(sights) != 1 {
			t.Errorf("got %+v, want that there is room again", sights)
		}
	})
}

// TestContract33ASliceOfATargetThatIsGoneIsForgotten: others make and delete slices of its names.
// What the watch has not told yet is not forgotten.
func TestContract33ASliceOfATargetThatIsGoneIsForgotten(t *testing.T) {
	hub := newWorld().hub(t, []string{"shop"})
	viewOf(t, hub, "shop", "web", "web.blue")
	object := sliceOf("shop", "web.blue", "web", manager, 1)
	tell := func(revision int, how func(*cluster.Hub, *discoveryv1.EndpointSlice)) {
		object.ResourceVersion = strconv.Itoa(revision)
		how(hub, object)
	}
	tell(9000, cluster.Told)
	tell(8999, cluster.Removed)
	if len(hub.Local().Published) != 1 {
		t.Error("a watch that lags took a slice back")
	}
	tell(9000, cluster.Removed)
	for i := range 1000 {
		object.Name = fmt.Sprint("web.blue-", i+2)
		tell(2*i+10, cluster.Told)
		tell(2*i+11, cluster.Removed)
	}
	if n := cluster.Entries(hub, "shop"); n > 0 {
		t.Errorf("%d slices that are gone are kept", n)
	}
}

// TestContract170OfSlicesBesideATargetAHundredAreTold: others may make any number for its Service.
func TestContract170OfSlicesBesideATargetAHundredAreTold(t *testing.T) {
	inWorld(t, []string{"shop"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		synctest.Wait()
		store := viewOf(t, hub, "shop", "web", "web.blue")
		state := loaded(t, store)
		if len(state.Beside) != 100 || len(state.Slices) != 1 {
			t.Fatalf("got %d slices beside %d, want 100 beside one", len(state.Beside), len(state.Slices))
		}
		w.put("DELETED", sliceOf("shop", state.Beside[0].Name, "web", others, 1))
		synctest.Wait()
		if after := loaded(t, store); len(after.Beside) != 100 || after.Beside[0].Name == state.Beside[0].Name {
			t.Errorf("got %d slices beside ours after one went", len(after.Beside))
		}
	}, func(w *world) {
		w.put("ADDED", serviceOf("shop", "web"))
		w.put("ADDED", sliceOf("shop", "web.blue", "web", manager, 1))
		for i := range 150 {
			w.put("ADDED", sliceOf("shop", fmt.Sprintf("x%03d", i), "web", others, 1))
		}
	})
}
