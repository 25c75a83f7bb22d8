package watch_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/watch"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// long is an Envoy of so many routes. Of 5000 of them 1.3 MB are kept.
func long(routes int) v1alpha1.EnvoySpec {
	spec := leading("")
	for i := range routes {
		spec.Listeners[0].Routes = append(spec.Listeners[0].Routes, v1alpha1.Route{PathPrefix: fmt.Sprint("/", i), Service: "web"})
	}
	return spec
}

// crowd is a namespace with so many long Envoys, and one of a neighbour.
func crowd(count int) map[string]v1alpha1.EnvoySpec {
	all := map[string]v1alpha1.EnvoySpec{"evil/small": leading("web"), "shop/edge": leading("web")}
	for i, spec := 0, long(5000); i < count; i++ {
		all[fmt.Sprintf("evil/long-%02d", i)] = spec
	}
	return all
}

// refusedBy are the Envoys that are not in effect, by name, with the reason.
func (a *envoyAPI) refusedBy(fleets *xds.Fleets) map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make(map[string]string)
	for name := range a.envoys {
		if d := fleets.Definition(name); d.Problem != "" || d.Carrier != xds.InObject {
			all[name] = d.Problem
		}
	}
	return all
}

func (a *envoyAPI) change(name string, spec v1alpha1.EnvoySpec) {
	a.set(func() { a.envoys[name] = spec })
	a.tell("MODIFIED", name)
	synctest.Wait()
}

func (a *envoyAPI) delete(name string) {
	a.set(func() {})
	a.tell("DELETED", name)
	a.set(func() { delete(a.envoys, name) })
	synctest.Wait()
}

// TestContract225ANamespaceWhoseEnvoysSayTooMuchTakesNoRoomOfOthers: 20 Envoys of
// 1.3 MB. What is in effect stays, what is new or grows is refused and told.
func TestContract225ANamespaceWhoseEnvoysSayTooMuchTakesNoRoomOfOthers(t *testing.T) {
	for way, a := range map[string]*envoyAPI{"a list": {revision: 10, envoys: crowd(20)}, "a watch": {revision: 10, envoys: crowd(0)}} {
		a.watchedEnvoys(t, nil, func(t *testing.T, a *envoyAPI, _ *watch.Envoys, fleets *xds.Fleets) {
			if all := crowd(20); way == "a watch" {
				for _, name := range slices.Sorted(maps.Keys(all)) {
					a.change(name, all[name])
				}
			}
			refused := a.refusedBy(fleets)
			if len(refused) != 8 || refused["evil/small"] != "" || refused["shop/edge"] != "" {
				t.Fatalf("%s: %d Envoys are refused, want 8 of 20 long ones and nothing else: %v", way, len(refused), refused)
			}
			for name, why := range refused {
				if !strings.Contains(why, "the Envoys of namespace evil take more than the 16 MiB that one namespace may take") {
					t.Errorf("%s: %s: got %q", way, name, why)
				}
			}
			a.change("evil/small", long(5000))
			a.change("shop/edge", long(5000))
			if got := a.refusedBy(fleets); len(got) != 9 || got["evil/small"] == "" || got["shop/edge"] != "" {
				t.Errorf("%s: got %v after two Envoys grew, want that the one of the crowd is refused", way, got)
			}
			a.change("evil/small", leading("api"))
			if got := a.refusedBy(fleets); !maps.Equal(got, refused) {
				t.Errorf("%s: got %v after one is small again, want what was refused before", way, got)
			}
			a.change("evil/long-00", leading("No Service"))
			a.change("evil/small", long(5000))
			if got := a.refusedBy(fleets); got["evil/small"] == "" {
				t.Errorf("%s: got %v, want that a version which stays in effect takes room", way, got)
			}
		})
	}
}

// TestContract225WhatWasRefusedIsTakenWhenHalfOfTheRoomIsFree: not before, because each time
// costs a list.
func TestContract225WhatWasRefusedIsTakenWhenHalfOfTheRoomIsFree(t *testing.T) {
	all := crowd(16)
	all["evil/medium"] = long(4500)
	(&envoyAPI{revision: 10, envoys: all}).watchedEnvoys(t, nil, func(t *testing.T, a *envoyAPI, _ *watch.Envoys, fleets *xds.Fleets) {
		for i := range 6 {
			if got := a.refusedBy(fleets); len(got) != 5 || got["evil/medium"] != "" {
				t.Fatalf("got %v after %d went, want five of the longest until half of the room is free", got, i)
			}
			a.delete(fmt.Sprintf("evil/long-%02d", i))
			time.Sleep(time.Second)
		}
		if got := a.refusedBy(fleets); len(got) != 0 {
			t.Errorf("%d Envoys are refused while half of the room is free", len(got))
		}
	})
}

// TestContract225TheBytesThatAreKeptAreThoseThatCount: of 60 Envoys of 1.3 MB, also while
// their list is read.
func TestContract225TheBytesThatAreKeptAreThoseThatCount(t *testing.T) {
	listed, a := 0, &envoyAPI{revision: 10, envoys: crowd(60)}
	a.listed = func() { listed = memory.Live() >> 20 }
	before := memory.Live() >> 20
	a.watchedEnvoys(t, nil, func(t *testing.T, _ *envoyAPI, _ *watch.Envoys, fleets *xds.Fleets) {
		kept := memory.Live() >> 20
		if kept-before > 12 || listed-before > 36 {
			t.Errorf("%d MiB are kept of one namespace, and %d of its list", kept-before, listed-before)
		}
		runtime.KeepAlive(fleets)
	})
}

// TestContract233OfEnvoysWithoutRoomTheFirstAreKnownByName: of 3,000 that there is no room for.
// The others are told as one, and what is in effect stays.
func TestContract233OfEnvoysWithoutRoomTheFirstAreKnownByName(t *testing.T) {
	all := crowd(0)
	for i := range 3000 {
		all[fmt.Sprint("evil/long-", i)] = long(100)
	}
	(&envoyAPI{revision: 10, envoys: all}).watchedEnvoys(t, nil, func(t *testing.T, a *envoyAPI, source *watch.Envoys, fleets *xds.Fleets) {
		a.change("evil/new", long(100))
		if names := source.Names("evil"); names < 1500 || names > 1700 {
			t.Errorf("%d Envoys are known by name, want 1000 beside those of 16 MiB", names)
		}
		const want = "the Envoys of namespace evil take more than the 16 MiB that one namespace may take"
		if got := fleets.Definition("evil/new"); got.Carrier != xds.InObject || !strings.Contains(got.Problem, want) {
			t.Errorf("got %+v of a new one, want why it is not in effect", got)
		}
		for _, name := range []string{"evil/small", "shop/edge"} {
			if got := fleets.Definition(name); got.Problem != "" || got.Carrier != xds.InObject {
				t.Errorf("%s: got %+v, want that it is in effect", name, got)
			}
		}
		if got := fleets.Definition("blog/unknown"); got != (xds.Definition{}) {
			t.Errorf("got %+v of an Envoy that is not there, in another namespace", got)
		}
		a.set(func() { a.envoys = crowd(0) })
		a.expire()
		time.Sleep(5 * time.Second)
		if got := fleets.Definition("evil/new"); got.Problem != "" || source.Names("evil") != 1 {
			t.Errorf("got %+v of one that is gone, and %d names, want none but the one that is left", got, source.Names("evil"))
		}
	})
}
