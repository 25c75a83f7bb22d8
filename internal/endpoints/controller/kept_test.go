package controller_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// Whatever it was that cannot be made any more.
func TestContract96TroubleOfWhatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.service("shop/two", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(time.Minute)
		if !w.quiet() {
			t.Fatal("got no rest before anything was wrong")
		}
		w.locked(func() { w.checkErr["red"] = errors.New("read authorities of the health check: no file ca.crt") })
		w.documents(pools, bindingOf("shop/web", "blue"), bindingOf("shop/two", "red"))
		during(time.Minute)
		if w.quiet() {
			t.Error("got a rest while the checks of a pool cannot be made")
		}
		w.documents(poolOf("blue", "10.0.0.0/24"), bindingOf("shop/web", "blue"))
		during(v1alpha1.DefaultReleaseAfter + time.Minute)
		if !w.quiet() {
			t.Error("got no rest after the pool and its binding were removed")
		}
		w.stop()
	})
}

// TestContract181ChecksThatGoOnWithAFileOfBeforeAreTold, within a pass at rest, and so is the end.
func TestContract181ChecksThatGoOnWithAFileOfBeforeAreTold(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		var log bytes.Buffer
		w.logger = slog.New(slog.NewTextHandler(&log, nil))
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(time.Minute)
		for _, trouble := range []string{"ca.crt: holds no certificate", ""} {
			w.locked(func() { w.trouble = nil })
			if trouble != "" {
				w.locked(func() { w.trouble = errors.New(trouble) })
			}
			during(time.Minute)
			if got := w.server.Snapshot().Groups[0].Problem; got != trouble {
				t.Errorf("got the problem %q, want %q", got, trouble)
			}
		}
		w.locked(func() { w.dead["10.0.0.2"] = true })
		during(10 * time.Second)
		if got := w.usable("shop/web"); !slices.Equal(got, []string{"10.0.0.1:8080"}) {
			t.Errorf("got %v, want the endpoint that works", got)
		}
		w.stop()
		for _, line := range []string{"the endpoints cannot be checked as the document says", "the endpoints can be checked"} {
			if n := strings.Count(log.String(), line); n != 1 {
				t.Errorf("got %d times %q in the log, want once", n, line)
			}
		}
	})
}

func TestContract33WhatCameAndWentIsForgotten(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(time.Minute)
		for i := range 100 {
			key := fmt.Sprintf("shop/s%d", i)
			w.service(key, "http:8080")
			w.documents(pools, bindingOf("shop/web", "blue"), bindingOf(key, "red"), bindingOf(fmt.Sprintf("shop/none%d", i), "red"))
			during(time.Second)
			w.documents(pools, bindingOf("shop/web", "blue"))
			w.locked(func() {
				delete(w.services, key)
				delete(w.slices, key+".red")
				w.tell()
			})
			during(time.Second)
		}
		during(time.Minute)
		w.stop()
		if kept := w.server.Remembered(); kept > 10 {
			t.Errorf("got %d things that are remembered after 100 Services came and went", kept)
		}
	})
}

// A kind that was there, and is not, takes nothing away: what its objects published stays.
func TestContract82WhatALostKindPublishedIsNotReleased(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.service("shop/other", "http:8080")
		pools += "  releaseAfter: 0s\n"
		w.documents(pools, bindingOf("shop/web", "red"), bindingOf("shop/other", "blue"))
		w.start()
		during(20 * time.Second)
		w.stop()
		w.documents(pools, bindingOf("shop/other", "blue")) // that of web was an object
		w.locked(func() { w.set.Missing = []string{v1alpha1.KindEndpointBinding} })
		w.start()
		if empty := w.emptyFor("shop/web", time.Minute); empty > 0 {
			t.Errorf("got nothing usable for %v: %s", empty, w.shown())
		}
		w.stop()
	})
}

// A kind that never was there is not lost where everything else asks for what is published.
func TestContract82AKindThatNeverWasThereIsNotLost(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/asks", "http:8080")
		w.annotate("shop/asks", "red")
		w.documents(pools)
		w.locked(func() { w.set.Missing = []string{v1alpha1.KindEndpointBinding} })
		w.start()
		during(time.Minute)
		if got := w.server.Snapshot().Documents; len(got.Lost) > 0 || len(w.usable("shop/asks")) != 2 {
			t.Errorf("got %v lost and %s", got.Lost, w.shown())
		}
		w.stop()
	})
}

// An object that was never sound may be about any Service of its namespace, and of no other.
func TestContract60AnObjectThatWasNeverSoundKeepsItsNamespaceAlone(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		texts := []string{pools}
		for _, key := range []string{"blog/a", "shop/a", "blog/b", "shop/b", "shop/c"} {
			w.service(key, "http:8080")
			texts = append(texts, bindingOf(key, "blue"))
		}
		w.documents(texts...)
		w.start()
		during(20 * time.Second)
		w.documents(append(texts[:1], texts[3:]...)...)
		broken := documents.Entry{Key: documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: "shop", Name: "x"}, Object: &documents.Object{}}
		w.locked(func() { w.set.Entries = append(w.set.Entries, broken) })
		during(2 * v1alpha1.DefaultReleaseAfter)
		if blog, shop := w.usable("blog/a"), w.usable("shop/a"); len(blog) != 0 || len(shop) != 2 {
			t.Errorf("got %v and %v, want blog/a released and shop/a kept", blog, shop)
		}
		w.stop()
	})
}

func TestContract60WhatIsMissingInANamespaceThatCannotBeReadIsNotGone(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		for _, key := range []string{"blog/a", "shop/b", "shop/c"} {
			w.service(key, "http:8080")
		}
		w.documents(pools, bindingOf("blog/a", "blue"), bindingOf("shop/b", "blue"), bindingOf("shop/c", "blue"))
		w.start()
		during(20 * time.Second)
		w.locked(func() { w.blind["blog"] = true; w.tell() })
		during(time.Second)
		w.documents(pools, bindingOf("shop/b", "blue"), bindingOf("shop/c", "blue"))
		during(2 * v1alpha1.DefaultReleaseAfter)
		if got := w.usable("blog/a"); len(got) != 2 {
			t.Errorf("got %v, want both endpoints", got)
		}
		w.locked(func() { w.blind["blog"] = false; w.tell() })
		during(2 * v1alpha1.DefaultReleaseAfter)
		if got := w.usable("blog/a"); len(got) != 0 {
			t.Errorf("got %v, want it released now that the namespace can be read", got)
		}
		w.stop()
	})
}

// The world fails the test where a store is opened while a write of its slices is under way.
func TestContract21NobodyReadsSlicesWhileAWriteOfThemIsUnderWay(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(20 * time.Second)
		w.locked(func() {
			w.fault = func(publish.Target, publish.Write) (time.Duration, error) { return 3 * time.Second, nil }
			w.dead["10.0.0.1"] = true
		})
		underway := func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.flying["shop/web.blue"] > 0
		}
		for !underway() {
			during(50 * time.Millisecond)
		}
		w.documents(pools, bindingOf("shop/web", "blue", "ports: [{port: 9090}]"))
		during(time.Minute)
		if diff := cmp.Diff([]string{"10.0.0.2:9090"}, w.usable("shop/web")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.stop()
	})
}

func TestContract52AGroupThatEndedPublishesNothing(t *testing.T) {
	t.Parallel()
	if controller.PublishesAfterItsEnd() {
		t.Error("got a verdict of a group that ended: another one may have its place")
	}
}

// The document of a pool has a mistake, and no version of before is known: the Service still
// names it, so its slices are not another pool's, whatever subnets that has.
func TestContract204SlicesOfAPoolThatIsStillAskedForStay(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3")
		w.pool("red", "10.0.1.1", "10.0.1.2")
		wide := func(name string) string { return poolOf(name, "10.0.0.0/16") }
		w.service("shop/web", "http:8080")
		w.documents(wide("blue"), wide("red"), bindingOf("shop/web", "blue, red"))
		w.start()
		during(20 * time.Second)
		before := w.shown()
		w.stop()
		w.documents(wide("red"), bindingOf("shop/web", "blue, red"))
		w.locked(func() { w.writes = nil })
		w.start()
		during(time.Minute)
		if after := w.shown(); after != before || len(w.writes) > 0 {
			t.Errorf("got %s after the writes %q, want %s", after, w.writes, before)
		}
		w.stop()
	})
}

// TestContract33WhatCameAndWentIsForgottenWhileAServiceCannotBeRead, which may be so for ever.
func TestContract33WhatCameAndWentIsForgottenWhileAServiceCannotBeRead(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/away", "http:8080")
		w.unread = map[string]bool{"shop/away": true}
		w.documents(pools, bindingOf("shop/away", "blue"))
		w.start()
		for i := range 100 {
			name := fmt.Sprintf("s%d", i)
			w.service("shop/"+name, "http:8080")
			w.locked(func() {
				w.slices["shop/"+name+".red"] = storedSlice{publish.Slice{
					Name: name + ".red", Owner: "uid-" + name, Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}, Version: "1",
					Endpoints: endpoints(fmt.Sprintf("10.0.1.%d", i+1)),
				}, "shop", name, "red"}
			})
			w.documents(pools, bindingOf("shop/away", "blue"), bindingOf("shop/"+name, "red"))
			during(time.Second)
			w.locked(func() {
				delete(w.services, "shop/"+name)
				delete(w.slices, "shop/"+name+".red")
				w.tell()
			})
		}
		w.documents(pools, bindingOf("shop/away", "blue"))
		during(time.Minute)
		w.stop()
		if kept := w.server.Remembered(); kept > 10 {
			t.Errorf("got %d things that are remembered after 100 Services came and went", kept)
		}
	})
}
