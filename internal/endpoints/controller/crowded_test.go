package controller_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestContract170ACrowdedNamespaceIsToldAndNothingInItVanishes: the Service of a target
// is one of those that there is no room for. It is told once each time.
func TestContract170ACrowdedNamespaceIsToldAndNothingInItVanishes(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		var log bytes.Buffer
		w.logger = slog.New(slog.NewTextHandler(&log, nil))
		w.service("shop/web", "http:8080")
		w.service("blog/web", "http:8080")
		w.documents(pools, bindingOf("blog/web", "blue"))
		w.annotate("shop/web", "blue")
		w.start()
		during(time.Minute)
		var left *assign.Service
		w.locked(func() {
			left = w.services["shop/web"]
			delete(w.services, "shop/web")
			w.crowded = map[string]error{"shop": errors.New("too many words")}
			w.tell()
		})
		during(v1alpha1.DefaultReleaseAfter + time.Hour)
		w.locked(func() { w.services["shop/web"], w.crowded = left, nil })
		if len(w.usable("shop/web")) != 2 || len(w.usable("blog/web")) != 2 {
			t.Errorf("got %v and %v, want that nothing vanished", w.usable("shop/web"), w.usable("blog/web"))
		}
		w.locked(w.tell)
		during(time.Minute)
		w.locked(func() {
			w.crowded = map[string]error{"shop": errors.New("too many words")}
			w.tell()
		})
		during(time.Hour)
		w.stop()
		line := `level=ERROR msg="not all Services and slices of a namespace are known, so none of its Services vanishes" namespace=shop error="too many words"` + "\n"
		if n := strings.Count(log.String(), line); n != 2 {
			t.Errorf("got %d lines %q, want one each time:\n%s", n, line, log.String())
		}
	})
}

// TestContract224AServiceBeyondTheBoundIsCheckedAfterARestart: its slice alone tells what it
// takes from which pool. What its annotations say counts again where there is room.
func TestContract224AServiceBeyondTheBoundIsCheckedAfterARestart(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools)
		w.annotate("shop/web", "blue")
		w.start()
		during(time.Minute)
		w.locked(func() {
			w.left, w.crowded = map[string]bool{"shop/web": true}, map[string]error{"shop": errors.New("too many words")}
		})
		w.restart()
		during(time.Minute)
		writes := len(w.writes)
		w.locked(func() { w.dead["10.0.0.1"] = true })
		during(4 * worldInterval)
		if got, want := w.usable("shop/web"), []string{"10.0.0.2:8080"}; !slices.Equal(got, want) || len(w.writes) != writes+1 {
			t.Errorf("got %v and writes %q, want %v by one write", got, w.writes[writes:], want)
		}
		during(v1alpha1.DefaultReleaseAfter + time.Hour)
		w.locked(func() { w.left, w.crowded, w.dead["10.0.0.1"] = nil, nil, false; w.tell() })
		during(time.Minute)
		if got, want := w.in("shop/web.blue"), []string{"10.0.0.1=ready", "10.0.0.2=ready"}; !slices.Equal(got, want) || w.told("ServiceMissing") {
			t.Errorf("got %v and Events %q, want %v", got, w.events, want)
		}
		w.stop()
	})
}
