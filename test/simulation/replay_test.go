//go:build simulation

package simulation_test

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// A seed that failed is of use only if it fails again.
func TestASeedReplays(t *testing.T) {
	bubble.Alone(t)
	for seed := *first; seed < *first+min(*seeds, 20); seed++ {
		one := simulate(t, seed)
		// An election runs by a clock that counts suspended time. The simulation has
		// no such clock.
		if one.set.election {
			continue
		}
		// Two events of one instant have no order, such as the answer to a write and what a watch
		// says of it: the runtime draws one. So a seed may pass in two or three ways.
		seen := map[uint64]*world{}
		for w := one; len(seen) < 4; w = simulate(t, seed) {
			if seen[w.digest.Sum64()] != nil {
				break
			}
			seen[w.digest.Sum64()] = w
		}
		if len(seen) == 4 {
			t.Errorf("seed %d passed in four ways:\n%s", seed, differing(slices.Collect(maps.Values(seen))))
		}
	}
}

// differing is where the first two of some worlds begin to differ.
func differing(all []*world) string {
	one, two := all[0].trace, all[1].trace
	i := 0
	for i < min(len(one), len(two)) && one[i] == two[i] {
		i++
	}
	from := max(0, i-10)
	return strings.Join(one[from:min(i+3, len(one))], "\n") + "\n\nand\n\n" + strings.Join(two[from:min(i+3, len(two))], "\n")
}

// Connections to silent backends that begin at the same instant have the same
// deadline. If they also ended at the same instant, the runtime would draw which is
// first, and the seed would not replay.
func TestConnectionsThatBeginTogetherTimeOutApart(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, err := newWorld(1, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.prepare(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var dialing sync.WaitGroup
		ended := make(chan time.Time, 20)
		for i := range cap(ended) {
			a := netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + i)})
			w.behave(a, silent)
			dialing.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), w.set.healthTimeout)
				defer cancel()
				if conn, err := p.dial(ctx, netip.AddrPortFrom(a, w.target.Ports[0].Number)); err == nil {
					t.Errorf("%s is silent and was connected: %v", a, conn)
				}
				ended <- time.Now()
			})
		}
		dialing.Wait()
		close(ended)
		seen := map[time.Time]bool{}
		for at := range ended {
			if seen[at] {
				t.Fatalf("two connections timed out at the same instant")
			}
			seen[at] = true
		}
	})
}

// Two processes that check at the same instants ask the world in any order.
func TestTwoProcessesNeverCheckAtTheSameInstant(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, err := newWorld(1, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		w.set.election, w.set.forced = false, true
		for w.second == nil {
			w.look(t)
			time.Sleep(tick)
			synctest.Wait()
		}
		if apart := w.second.begun.Sub(w.daemon.begun); apart%tick == 0 {
			t.Errorf("the two began %s apart", apart)
		}
		w.end()
	})
}
