package apiserver_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// long is a binding with as many ports as it may have: 13.5 KiB.
func long() string {
	var ports []string
	for i := range 100 {
		ports = append(ports, fmt.Sprintf(`{"name":"port-%02d","port":%d}`, i, 30000+i))
	}
	return `{"pools":[{"name":"blue"}],"healthCheck":{"port":30000},"ports":[` + strings.Join(ports, ",") + `]}`
}

// roomy runs a watcher whose namespaces have 1 MiB.
func roomy(t *testing.T, a *api) *apiserver.Watcher {
	t.Helper()
	w := newWatcher(t, a)
	w.SetRoom(1 << 20)
	return running(t, w)
}

// inNamespace returns how many bindings of a namespace are in effect, how many of these with their
// last good version, and how many are known and not in effect.
func inNamespace(t *testing.T, w *apiserver.Watcher, namespace string) (inEffect, kept, refused int) {
	t.Helper()
	synctest.Wait()
	for _, e := range w.Set().Entries {
		if e.Key.Namespace != namespace {
			continue
		}
		if e.Usable() {
			inEffect++
		} else {
			refused++
		}
		if e.Kept {
			kept++
		}
		if (e.Kept || !e.Usable()) && (len(e.Mistakes) != 1 || !strings.Contains(e.Mistakes[0].Error(), "the bindings of one namespace may take 1 MiB together")) {
			t.Fatalf("%s: got %v, want that there is no room", e.Key, e.Mistakes)
		}
	}
	return inEffect, kept, refused
}

// TestContract244ANamespaceWhoseBindingsSayTooMuchTakesNoRoomOfOthers: 75 of the long ones fit into 1 MiB.
// What is in effect stays; what is new or grows is refused, by a list as by the watch, until half of
// the room is free.
func TestContract244ANamespaceWhoseBindingsSayTooMuchTakesNoRoomOfOthers(t *testing.T) {
	const count, fit = 80, 75
	for _, way := range []string{"a list", "a watch"} {
		bubble.Test(t, func(t *testing.T) {
			a := newAPI()
			small := "namespaces/evil/endpointbindings/small"
			a.apply(small, web)
			var w *apiserver.Watcher
			if way == "a watch" {
				w = roomy(t, a)
				time.Sleep(soon)
				synctest.Wait()
			}
			for i := range count {
				a.apply(fmt.Sprintf("namespaces/evil/endpointbindings/long-%04d", i), long())
			}
			if w == nil {
				w = roomy(t, a)
			}
			time.Sleep(soon)
			if inEffect, kept, refused := inNamespace(t, w, "evil"); inEffect != fit+1 || kept != 0 || refused != count-fit {
				t.Fatalf("%s: %d are in effect, %d of them kept, and %d refused, want %d, 0 and %d", way, inEffect, kept, refused, fit+1, count-fit)
			}
			a.apply(small, long())
			a.apply("namespaces/shop/endpointbindings/web", long())
			time.Sleep(soon)
			if inEffect, kept, _ := inNamespace(t, w, "evil"); inEffect != fit+1 || kept != 1 {
				t.Errorf("%s: %d are in effect and %d of them kept after one grew, want %d and 1", way, inEffect, kept, fit+1)
			}
			if inEffect, kept, _ := inNamespace(t, w, "shop"); inEffect != 1 || kept != 0 {
				t.Errorf("%s: the neighbour's is refused", way)
			}
			lists := a.lists
			for i := range fit / 2 {
				a.remove(fmt.Sprintf("namespaces/evil/endpointbindings/long-%04d", i), false)
			}
			time.Sleep(soon)
			if a.lists > lists+2 {
				t.Errorf("%s: %d lists while bindings went", way, a.lists-lists)
			}
			for i := range 3 {
				a.remove(fmt.Sprintf("namespaces/evil/endpointbindings/long-%04d", fit/2+i), false)
			}
			time.Sleep(5 * time.Second)
			if inEffect, kept, refused := inNamespace(t, w, "evil"); kept != 0 || refused != 0 {
				t.Errorf("%s: %d are in effect, %d of them kept, and %d refused, while half of the room is free", way, inEffect, kept, refused)
			}
		})
	}
}

// TestContract244AVersionInEffectTakesRoomBehindAMistake: a short version with a mistake keeps the long
// one in effect, so it makes no room for another long one.
func TestContract244AVersionInEffectTakesRoomBehindAMistake(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		for i := range 75 {
			a.apply(fmt.Sprintf("namespaces/evil/endpointbindings/long-%04d", i), long())
		}
		w := roomy(t, a)
		time.Sleep(soon)
		for i := range 75 {
			a.apply(fmt.Sprintf("namespaces/evil/endpointbindings/long-%04d", i), `{"pools":[{"name":"blue"}],"ports":[{"port":0}]}`)
		}
		time.Sleep(soon)
		a.apply("namespaces/evil/endpointbindings/more", long())
		time.Sleep(soon)
		synctest.Wait()
		if e, _ := w.Set().Entry(documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: "evil", Name: "more"}); e.Usable() {
			t.Error("one more is in effect beside the versions that stay")
		}
		if e, _ := w.Set().Entry(documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: "evil", Name: "long-0000"}); !e.Kept || len(e.Binding.Spec.Ports) != 100 {
			t.Errorf("got %+v, want the last good version", e)
		}
	})
}

// TestContract244TheBytesThatAreKeptAreThoseThatCount: three times what has room.
func TestContract244TheBytesThatAreKeptAreThoseThatCount(t *testing.T) {
	a := newAPI()
	for i := range 225 {
		a.apply(fmt.Sprintf("namespaces/evil/endpointbindings/long-%04d", i), long())
	}
	before := memory.Live()
	bubble.Test(t, func(t *testing.T) {
		w := roomy(t, a)
		time.Sleep(soon)
		if inEffect, _, _ := inNamespace(t, w, "evil"); inEffect < 75 {
			t.Errorf("%d are in effect", inEffect)
		}
		if more := int64(memory.Live()) - int64(before); more > 5<<18 {
			t.Errorf("the bindings of one namespace take %d KiB, want 1280 at the most", more>>10)
		} else {
			t.Logf("the bindings of one namespace take %d KiB", more>>10)
		}
	})
}

// TestContract244OfAListThatIsNotCompleteABoundedPartIsHeld: five times what has room.
func TestContract244OfAListThatIsNotCompleteABoundedPartIsHeld(t *testing.T) {
	w := newWatcher(t, newAPI())
	w.SetRoom(1 << 20)
	reduce, before := w.Transformer(), memory.Live()
	held := make([]any, 0, 400)
	for i := range cap(held) {
		var raw kube.Raw
		text := fmt.Sprintf(`{"apiVersion":"endpoints.ablmnzde.github.io/v1alpha1","kind":"EndpointBinding","metadata":{"namespace":"evil","name":"long-%04d","uid":"u"},"spec":%s}`, i, long())
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		kept, err := reduce(&raw)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, kept)
	}
	if more := int64(memory.Live()) - int64(before); more > 5<<19 {
		t.Errorf("%d KiB of a list are in use, want 2560 at the most", more>>10)
	} else {
		t.Logf("%d KiB of a list are in use", more>>10)
	}
	runtime.KeepAlive(held)
}

// TestContract244OfBindingsWithoutRoomAThousandAreKnownByName: of the others that they exist. They are in
// effect when there is room.
func TestContract244OfBindingsWithoutRoomAThousandAreKnownByName(t *testing.T) {
	const count, fit, named, left = 1300, 56, 1000, 25
	for _, way := range []string{"a list", "a watch"} {
		bubble.Test(t, func(t *testing.T) {
			a := newAPI()
			w := newWatcher(t, a)
			w.SetRoom(64 << 10)
			if way == "a watch" {
				running(t, w)
				time.Sleep(soon)
				synctest.Wait()
			}
			for i := range count {
				a.apply(fmt.Sprintf("namespaces/evil/endpointbindings/web-%04d", i), web)
			}
			if way == "a list" {
				running(t, w)
			}
			check := func(inEffect, refused int, rest bool) {
				t.Helper()
				synctest.Wait()
				var got struct {
					inEffect, refused int
					rest              bool
				}
				set := w.Set()
				for _, e := range set.Entries {
					switch {
					case e.Key.Namespace != "evil":
					case e.Key.Name == documents.Rest:
						got.rest = !e.Usable() && len(e.Mistakes) == 1 && strings.Contains(e.Mistakes[0].Error(), "more than 1000 bindings")
					case e.Usable():
						got.inEffect++
					default:
						got.refused++
					}
				}
				if got.inEffect != inEffect || got.refused != refused || got.rest != rest || !set.Complete {
					t.Errorf("%s: got %+v, complete %v, want %d, %d, %v", way, got, set.Complete, inEffect, refused, rest)
				}
			}
			time.Sleep(10 * time.Second)
			check(fit, named, true)
			for i := range count - left {
				a.remove(fmt.Sprintf("namespaces/evil/endpointbindings/web-%04d", i), false)
			}
			time.Sleep(time.Minute)
			check(left, 0, false)
		})
	}
}
