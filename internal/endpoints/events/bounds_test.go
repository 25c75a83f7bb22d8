package events_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/events"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestASlowServerDelaysNothingAndNothingGrows(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.api.takes = time.Hour
		start := time.Now()
		for i := range 300 {
			w.Announce(explain.Notice{Reason: explain.NoticeReason(fmt.Sprint("Reason", i)), Note: "a"})
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("announcing took %v, want no time", took)
		}
		during(6 * time.Second)
		if got := len(w.api.requests()); got != 2 {
			t.Errorf("got %d requests in 6 s, want 2: each is given up after 5 s", got)
		}
		// One may be on its way already, the others wait.
		if got, most := w.Stats().Dropped, uint64(300-64); got != most && got != most-1 {
			t.Errorf("got %d notices dropped, want all but 64 or 65", got)
		}
	})
}

// Contract 76: a team that makes a thousand Services at once keeps no owner from being
// told, of those or of others.
func TestContract76EachOfManyServicesIsTold(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorldWith(t, events.Options{Instance: "pod-1", Queue: 2000})
		w.api.takes = time.Millisecond
		w.start()
		for i := range 1000 {
			w.About("hog", fmt.Sprintf("web-%d", i)).Announce(explain.Notice{Reason: explain.LimitReached, Note: "a"})
		}
		w.About("shop", "web").Announce(explain.Notice{Reason: explain.PortNotAllowed, Note: "b"})
		during(2 * time.Minute) // ten a second, so that they do not compete with slices
		if got := len(w.api.events()); got != 1001 || w.Stats().Dropped > 0 {
			t.Errorf("got %d Events, and %d dropped, want 1001 and none", got, w.Stats().Dropped)
		}
		w.stop()
	})
}

// TestContract76ANamespaceThatFlapsTakesNoEventFromOthers, also where each has to be sent again.
func TestContract76ANamespaceThatFlapsTakesNoEventFromOthers(t *testing.T) {
	for name, failing := range map[string]bool{"delivered at once": false, "sent again": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				tried := make(map[string]bool)
				w.api.answer = func(_ int, e *eventsv1.Event) (int, string) {
					fails := failing && (e.Namespace == "hog" || !tried[e.Name])
					if tried[e.Name] = true; fails {
						return http.StatusInternalServerError, ""
					}
					return 0, ""
				}
				var many []*events.Subject
				for i := range 400 {
					many = append(many, w.About("hog", fmt.Sprintf("web-%d", i)))
				}
				shop := w.About("shop", "web")
				for range 3 {
					for i := range 600 { // for a minute
						for j := range 4 {
							many[(4*i+j)%400].Announce(explain.Notice{Reason: explain.PoolNotAllowed, Note: "a"})
						}
						if i == 300 {
							shop.Announce(explain.Notice{Reason: explain.RemovalHeld, Note: "b"})
						}
						during(100 * time.Millisecond)
					}
				}
				during(5 * time.Minute)
				told := 0
				for _, e := range w.api.events() {
					if e.Namespace == "shop" {
						told++
					}
				}
				if told != 3 {
					t.Errorf("got %d of 3 Events of the other namespace; %+v", told, w.Stats())
				}
			})
		})
	}
}

func TestAFlappingWorldDoesNotFloodTheServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for range 3600 {
			w.Announce(updated("a"))
			during(time.Second)
		}
		// 25 at once, and one in ten seconds for an hour.
		if got := len(w.api.events()); got < 380 || got > 386 {
			t.Errorf("got %d Events in an hour of one change a second, want 385", got)
		}
		told := 0
		for _, e := range w.api.events() {
			if strings.HasPrefix(e.Note, "a; 9 Events of this reason were left out") {
				told++
			}
		}
		if told < 350 {
			t.Errorf("got %d Events that say that 9 were left out before, want most", told)
		}
		w.Announce(explain.Notice{Reason: explain.SourceUnavailable, Note: "b"})
		during(time.Second)
		if got := w.api.events(); got[len(got)-1].Note != "b" {
			t.Errorf("got %q, want that one reason takes nothing from another", got[len(got)-1].Note)
		}
	})
}

func TestContract30WhatIsQueuedIsDeliveredAtTheEnd(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.api.takes = 100 * time.Millisecond
		w.start()
		for range 5 {
			w.Announce(updated("a"))
		}
		synctest.Wait()
		start := time.Now()
		w.stop()
		if took := time.Since(start); took > time.Second {
			t.Errorf("stopping took %v, want at most 1 s", took)
		}
		w.wantCounts(5, 0)
	})
}

func TestContract30AServerThatHangsDelaysTheEndByAMomentOnly(t *testing.T) {
	for name, trouble := range map[string]func(*api){
		"hangs": func(a *api) { a.takes = time.Hour },
		"fails": func(a *api) {
			a.answer = func(int, *eventsv1.Event) (int, string) { return http.StatusTooManyRequests, "60" }
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t)
				trouble(w.api)
				w.start()
				for range 5 {
					w.Announce(updated("a"))
				}
				during(time.Millisecond)
				start := time.Now()
				w.stop()
				if took := time.Since(start); took > time.Second {
					t.Errorf("stopping took %v, want at most 1 s", took)
				}
				if n := w.Stats().Dropped + w.Stats().Failed; n != 5 {
					t.Errorf("got %d notices counted, want 5", n)
				}
				if name == "hangs" { // our own shutdown is not a failure
					w.wantTroubles(0)
				}
			})
		})
	}
}
