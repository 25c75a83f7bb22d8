package syncer_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheNewestChecksAreShownWhileNothingElseHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	synctest.Test(t, func(t *testing.T) {
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
