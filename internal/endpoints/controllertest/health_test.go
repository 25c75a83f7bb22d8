package controllertest_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestTheNewestChecksAreShownWhileNothingElseHappens(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		s := w.start()
		during(20 * time.Second) // no further read is due, and every check passes
		at := s.Status().Health.Of(netip.MustParseAddr(ip(11))).Last.At
		if age, most := time.Since(at), w.opts.Policy.Interval+2*time.Second; age > most {
			t.Errorf("the check shown is %s old, want at most %s", age, most)
		}
		w.stop()
	})
}

func TestTheNewestChecksAreShownHoweverManyThereAre(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		w.opts.Policy.Interval, w.opts.HealthTimeout = 200*time.Millisecond, 100*time.Millisecond
		s := w.start()
		during(20 * time.Second)
		streak := s.Status().Health.Of(netip.MustParseAddr(ip(11)))
		if age, most := time.Since(streak.Last.At), 2*time.Second; age > most {
			t.Errorf("the check shown is %s old, want at most %s", age, most)
		}
		if least := 80; streak.Passes < least {
			t.Errorf("got %d passes in 20 s of five a second, want at least %d", streak.Passes, least)
		}
		w.stop()
	})
}

// Contract 230: nothing is planned before the slices were read, and why is known; it is told
// once, and so is that it is over.
func TestContract230WhySlicesCannotBeReadIsKnownBeforeAnythingIsPlanned(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, e := newWorld(t, 11), &ear{}
		w.opts.Announcer = e
		w.store.set(func() { w.store.loads = errors.New("403 Forbidden") })
		s := w.start()
		during(time.Minute)
		if got := s.Server().Snapshot(); !got.At.IsZero() || got.Unread == nil || got.Unread.Error() != "403 Forbidden" {
			t.Errorf("got a plan of %v and %v, want none, and why", got.At, got.Unread)
		}
		if s.Server().Decided() || s.Status().Store.LoadErr == nil {
			t.Errorf("got that it is decided, or nothing of the error: %v", s.Status().Store.LoadErr)
		}
		e.wantReasons(t, "StoreUnavailable")
		w.store.set(func() { w.store.loads = nil })
		during(time.Minute)
		if got := s.Server().Snapshot(); got.Unread != nil || !s.Server().Decided() {
			t.Errorf("got %v, want a decision", got.Unread)
		}
		e.wantReasons(t, "StoreRecovered")
		if got := len(w.logs.with("cannot load the slices, trying again")); got != 1 {
			t.Errorf("got %d lines about it, want 1", got)
		}
		w.stop()
	})
}
