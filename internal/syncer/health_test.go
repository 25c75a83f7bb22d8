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
		at := s.Status().Health[netip.MustParseAddr(ip(11))].Last.At
		if age, most := time.Since(at), w.opts.Policy.Interval+2*time.Second; age > most {
			t.Errorf("the check shown is %s old, want at most %s", age, most)
		}
		w.stop()
	})
}
