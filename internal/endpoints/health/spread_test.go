package health_test

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestTheChecksOfARoundAreSpreadEvenlyOverTheInterval(t *testing.T) {
	for _, size := range []int{1, 7, 64, 100, 128, 129, 1_000} {
		bubble.Test(t, func(t *testing.T) {
			f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, size)
			f.watchAll()
			time.Sleep(8 * time.Second)
			var round []time.Duration
			for _, at := range f.allStarts() {
				if at >= 4*time.Second && at < 6*time.Second {
					round = append(round, at)
				}
			}
			if len(round) != size {
				t.Errorf("%d addresses: got %d checks in a round", size, len(round))
			}
			// The places halve each other, so no gap is wider than twice the
			// average, until there are 128 of them, which is enough.
			const step = 2 * time.Second / 128
			if widest, want := slices.Max(append(gaps(round), 0)), max(4*time.Second/time.Duration(size), step); widest > want {
				t.Errorf("%d addresses: got a gap of %s between two checks, want at most %s", size, widest, want)
			}
			fewest, most := busiest(round)
			if want := (size + 127) / 128; most != want || fewest < most-1 {
				t.Errorf("%d addresses: got %d to %d checks at once, want %d or one less", size, fewest, most, want)
			}
		})
	}
}

// busiest returns how many of the sorted times are alike, at least and at most.
func busiest(times []time.Duration) (fewest, most int) {
	fewest = len(times)
	for i := 0; i < len(times); {
		next := i
		for next < len(times) && times[next] == times[i] {
			next++
		}
		fewest, most = min(fewest, next-i), max(most, next-i)
		i = next
	}
	return fewest, most
}

func TestContract33NeverMoreGoroutinesThanSlots(t *testing.T) {
	const slots = 10
	bubble.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		f := newFleet(t, health.LoopOptions{Interval: time.Second}, 1_000, slots)
		f.took(func(i int) time.Duration { return time.Duration(1+i%20) * time.Millisecond })
		f.watchAll()
		most := 0
		for range 3_000 {
			time.Sleep(time.Millisecond)
			synctest.Wait()
			most = max(most, runtime.NumGoroutine()-before)
		}
		// Run, the consumer of the test and one that synctest may have.
		if most > slots+3 || f.mostInFlight() != slots {
			t.Errorf("got %d goroutines and %d checks at once, want at most %d and %d", most, f.mostInFlight(), slots+3, slots)
		}
	})
}

func TestContract33GoroutinesThatOnlyABurstNeededGo(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		before := inBubbles()
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 128)
		f.took(func(int) time.Duration { return time.Millisecond })
		f.watchAll() // all at once, then one after the other
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := inBubbles() - before; got > 5 {
			t.Errorf("got %d goroutines more, want Run, the consumer of the test and the one or two that check", got)
		}
		if got := f.mostInFlight(); got != 128 {
			t.Errorf("got %d checks at once, want the burst", got)
		}
	})
}
