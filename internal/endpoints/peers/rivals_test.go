package peers_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// leads lets a desk ask about what its loop does not reach, every two seconds, and say what it
// reaches, for that long or until the Lease is given away. It returns who gets it and after how long.
func (w *world) leads(d *peers.Desk, lasts time.Duration, reaches func(netip.Addr) bool, of ...netip.Addr) (successor string, after time.Duration) {
	began := time.Now()
	var passing []netip.Addr
	for n := 1; time.Since(began) < lasts; n++ {
		var asks []guard.Ask
		passing = nil
		for _, a := range of {
			if reaches(a) {
				passing = append(passing, a)
			} else {
				asks = append(asks, fails(n, a))
			}
		}
		d.Set(asks)
		for next := time.Now().Add(2 * time.Second); time.Now().Before(next); time.Sleep(100 * time.Millisecond) {
			if d.Compares() {
				d.Reaches(passing)
			}
			w.With(func() { successor = w.Successor })
			if successor != "" {
				return successor, time.Since(began)
			}
		}
	}
	return "", time.Since(began)
}

func TestContract241TheLeaseMovesToTheReplicaThatReachesMore(t *testing.T) {
	six := []netip.Addr{address(1), address(2), address(3), address(4), address(5), address(6)}
	only := func(n int) func(netip.Addr) bool {
		return func(a netip.Addr) bool { return slices.Contains(six[:n], a) }
	}
	for name, c := range map[string]struct {
		leader   func(netip.Addr) bool
		standby  func(netip.Addr) time.Duration
		begin    func(*world)
		want     string
		earliest time.Duration
		latest   time.Duration
	}{
		"the leader reaches five of six":     {leader: only(5), standby: all, want: "b_1", earliest: time.Minute, latest: 70 * time.Second},
		"the leader reaches half":            {leader: only(3), standby: all, want: "b_1", earliest: time.Minute, latest: 70 * time.Second},
		"the leader reaches nothing":         {leader: only(0), standby: all, want: "b_1", earliest: time.Minute, latest: 70 * time.Second},
		"the standby reaches nothing either": {leader: only(0), standby: none},
		"the standby reaches less":           {leader: only(5), standby: func(a netip.Addr) time.Duration { return map[bool]time.Duration{true: 1}[a == six[0]] }},
		"each reaches what the other does not": {leader: only(3), standby: func(a netip.Addr) time.Duration {
			return map[bool]time.Duration{true: time.Millisecond}[a != six[0]]
		}},
		"all is reached": {leader: only(6), standby: all},
		"the Lease was given away nine minutes ago": {leader: only(3), standby: all, want: "b_1", earliest: time.Minute, latest: 70 * time.Second, begin: func(w *world) {
			w.HandedOver = time.Now().Add(-9 * time.Minute)
		}},
		"the Lease was given away just now": {leader: only(3), standby: all, want: "b_1", earliest: 10 * time.Minute, latest: 10*time.Minute + 15*time.Second, begin: func(w *world) {
			w.HandedOver = time.Now()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if c.begin != nil {
					c.begin(w)
				}
				w.standby("b", c.standby)
				w.standby("c", none)
				d := w.asker.Join(port, timeout)
				defer d.Close()
				got, after := w.leads(d, 15*time.Minute, c.leader, six...)
				if got != c.want || got != "" && (after < c.earliest || after > c.latest) {
					t.Errorf("got successor %q after %s, want %q between %s and %s", got, after, c.want, c.earliest, c.latest)
				}
			})
		})
	}
}

// However much is asked, there is room to compare what the leader reaches.
func TestContract241ManyQuestionsLeaveRoomToCompare(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		leaders := func(a netip.Addr) bool { return !a.Less(address(300)) }
		w.standby("b", func(a netip.Addr) time.Duration {
			if leaders(a) {
				return 0
			}
			return time.Millisecond
		})
		d := w.asker.Join(port, timeout)
		defer d.Close()
		var all []netip.Addr
		for n := range 400 {
			all = append(all, address(n))
		}
		if got, _ := w.leads(d, 3*time.Minute, leaders, all...); got != "" {
			t.Errorf("got successor %q, which does not reach what the leader reaches", got)
		}
	})
}

// A minute is one without a break.
func TestContract241WhatTheLeaderReachesAgainBeginsAnew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.standby("b", all)
		d := w.asker.Join(port, timeout)
		defer d.Close()
		began := time.Now()
		got, _ := w.leads(d, 15*time.Minute, func(a netip.Addr) bool {
			return a == address(1) || time.Since(began)%(50*time.Second) < 4*time.Second
		}, address(1), address(2))
		if got != "" {
			t.Errorf("got successor %q, want none", got)
		}
	})
}

// The line of a replica that is gone still says what it reached.
func TestContract241AReplicaThatIsGoneGetsNoLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.standby("b", all)
		d := w.asker.Join(port, timeout)
		defer d.Close()
		d.Set([]guard.Ask{fails(1, address(1))})
		answers(d, time.Second)
		w.Gone("b")
		if got, _ := w.leads(d, 5*time.Minute, func(netip.Addr) bool { return false }, address(1)); got != "" {
			t.Errorf("got successor %q, want none", got)
		}
	})
}

// Who looks at the page learns who stands by, and nobody asks for it otherwise.
func TestContract242WhoStandsByIsReadWhenSomebodyLooks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.standby("b", all)
		w.standby("c", all)
		time.Sleep(time.Minute)
		for range 100 {
			w.asker.State()
			time.Sleep(time.Second / 10)
		}
		s := w.asker.State()
		if len(s.Replicas) != 2 || s.Replicas[0].Name != "b" || s.Replicas[0].Node != "node-of-b" || s.Replicas[1].Reaches != 0 {
			t.Errorf("got %+v, want b and c", s)
		}
		w.With(func() {
			if w.Reads > 2 {
				t.Errorf("got %d reads in ten seconds, want at most 2", w.Reads)
			}
		})
	})
}
