package controller_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestContract226NothingIsJudgedBeforeItsSlicesWereRead: after a restart the slices of a Service
// cannot be read for a while, and the inventory misses their endpoints. Whoever began without
// them would take them away. No other Service of the pool waits for it.
func TestContract226NothingIsJudgedBeforeItsSlicesWereRead(t *testing.T) {
	t.Parallel()
	for name, two := range map[string]string{"of one Service": "", "of one of two": "before", "beside a new one": "after"} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w, pools := blueAndRed(t)
				var log bytes.Buffer
				w.logger = slog.New(slog.NewTextHandler(&log, nil))
				documents := []string{pools, bindingOf("shop/web", "blue")}
				w.service("shop/web", "http:8080")
				if w.service("shop/two", "http:8080"); two == "before" {
					documents = append(documents, bindingOf("shop/two", "blue"))
				}
				w.documents(documents...)
				w.start()
				during(time.Minute)
				if w.pool("blue"); two == "after" {
					w.pool("blue", "10.0.0.3")
					documents = append(documents, bindingOf("shop/two", "blue"))
					w.documents(documents...)
				}
				w.locked(func() { w.unread = map[string]bool{"shop/web": true} })
				w.restart()
				during(20 * time.Second)
				if got := w.usable("shop/two"); two == "after" && !slices.Equal(got, []string{"10.0.0.3:8080"}) {
					t.Errorf("got %v, want that a new Service waits for no other", got)
				}
				if two == "before" {
					w.locked(func() { w.dead["10.0.0.2"] = true })
					during(10 * time.Second)
					if got := w.usable("shop/two"); !slices.Equal(got, []string{"10.0.0.1:8080"}) {
						t.Errorf("got %v, want that the Service whose slices can be read waits for no other", got)
					}
					w.locked(func() { delete(w.dead, "10.0.0.2") })
				}
				w.locked(func() { w.unread = nil })
				during(time.Minute)
				if web, other := w.usable("shop/web"), w.usable("shop/two"); len(web) < 2 || two == "before" && len(other) < 2 {
					t.Errorf("got %v and %v, want that nothing is lost", web, other)
				}
				w.stop()
				if n := strings.Count(log.String(), "the Service cannot be filled, its slices stay as they are"); n != 1 {
					t.Errorf("told %d times that its slices cannot be read, want once", n)
				}
			})
		})
	}
}

// TestATeamThatChangesAServiceMakesTenPassesASecond, also while a pool cannot be checked: only a
// start waits for nothing.
func TestATeamThatChangesAServiceMakesTenPassesASecond(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.locked(func() { w.checkErr["blue"] = errors.New("read authorities of the health check: no file ca.crt") })
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(time.Minute)
		w.locked(func() { w.plans = 0 })
		for range 1000 {
			w.locked(w.tell)
			during(10 * time.Millisecond)
		}
		w.locked(func() {
			if w.plans > 110 {
				t.Errorf("got %d passes in ten seconds", w.plans)
			}
		})
		w.stop()
	})
}

// TestTheEndWaitsForReadsOfServicesThatAreGone: what leads for a time must not go on after it.
func TestTheEndWaitsForReadsOfServicesThatAreGone(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		read := make(chan struct{})
		w.slow = map[string]chan struct{}{"shop/web": read}
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(time.Second)
		w.documents(pools)
		w.locked(func() { delete(w.services, "shop/web"); w.tell() })
		during(time.Second)
		ended := make(chan struct{})
		go func() { defer close(ended); w.stop() }()
		during(time.Second)
		select {
		case <-ended:
			t.Error("the program ended while the slices of a Service were being read")
		default:
		}
		close(read)
		<-ended
	})
}
