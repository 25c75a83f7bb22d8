package health_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestANewAddressIsCheckedAtOnceAndThenEveryIntervalAtItsOwnPlace(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 5)
		f.watch(0, 1, 2, 3)
		time.Sleep(500 * time.Millisecond)
		f.watch(0, 1, 2, 3, 4)
		time.Sleep(8 * time.Second)
		for i := range 5 {
			starts, want := f.startsOf(i), time.Duration(0)
			if i == 4 {
				want = 500 * time.Millisecond
			}
			if starts[0] != want {
				t.Errorf("address %d: got first check at %s, want %s", i, starts[0], want)
			}
			for n, gap := range gaps(starts)[1:] {
				if gap != 2*time.Second {
					t.Errorf("address %d: got %s after check %d, want 2s", i, gap, n+2)
				}
			}
		}
		for i, want := range []string{"0s", "1s", "500ms", "1.5s", "250ms"} {
			if got := f.startsOf(i)[1] % (2 * time.Second); got.String() != want {
				t.Errorf("address %d: got place %s, want %s", i, got, want)
			}
		}
	})
}

// Addresses that take the place of others one after the other stay spread.
func TestTheChecksStaySpreadWhileAddressesAreReplaced(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 20)
		f.watch(0, 1, 2, 3)
		for i := range 16 {
			time.Sleep(2 * time.Second)
			f.watch(i+1, i+2, i+3, i+4)
		}
		time.Sleep(6 * time.Second)
		var places []time.Duration
		for i := 16; i < 20; i++ {
			places = append(places, f.startsOf(i)[2]%(2*time.Second))
		}
		slices.Sort(places)
		for _, gap := range gaps(places) {
			if gap != 500*time.Millisecond {
				t.Errorf("got places %s, want them half a second apart", places)
			}
		}
	})
}

func TestAnUrgentAddressIsCheckedEveryFastIntervalFromStartToStart(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 2)
		f.took(func(int) time.Duration { return 50 * time.Millisecond })
		f.watchAll()
		time.Sleep(100 * time.Millisecond)
		f.loop.Watch([]inventory.Watch{{Address: f.address(0), Urgent: true}, {Address: f.address(1)}})
		time.Sleep(1850 * time.Millisecond) // until 1.95 s
		got := f.startsOf(0)
		var want []time.Duration
		for at := time.Duration(0); at < 2*time.Second; at += 200 * time.Millisecond {
			want = append(want, at)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got checks at %s, want %s", got, want)
		}
		f.watchAll() // no longer in question
		time.Sleep(4 * time.Second)
		if gap := slices.Min(gaps(f.startsOf(0))[len(want):]); gap != 2*time.Second {
			t.Errorf("got %s between checks when no longer urgent, want 2s", gap)
		}
	})
}

func TestAnUrgentCheckThatLastsLongerThanTheFastIntervalFollowsItself(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 1)
		f.took(func(int) time.Duration { return time.Second })
		f.loop.Watch([]inventory.Watch{{Address: f.address(0), Urgent: true}})
		time.Sleep(4500 * time.Millisecond)
		if got := widest(f.startsOf(0)); got != time.Second {
			t.Errorf("got %s between two checks that take 1s each, want 1s", got)
		}
	})
}

func TestAnAddressThatLeavesIsNotCheckedAgainAndItsResultsAreDropped(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 3)
		f.consume(false)
		f.took(func(i int) time.Duration { return []time.Duration{time.Second, time.Millisecond, time.Millisecond}[i] })
		f.watchAll()
		time.Sleep(500 * time.Millisecond) // 0 is in flight, 1 and 2 have results
		f.watch(2)
		time.Sleep(5 * time.Second)
		if got := f.taken(); !slices.Equal(got, []int{2}) {
			t.Errorf("got results of %d, want only of 2", got)
		}
		for i := range 2 {
			if got := len(f.startsOf(i)); got != 1 {
				t.Errorf("address %d: got %d checks, want the one before it left", i, got)
			}
		}
		if got := f.loop.Stats(); got.Addresses != 1 || got.Undelivered != 0 {
			t.Errorf("got %+v, want 1 address and nothing undelivered", got)
		}
	})
}

func TestAnAddressThatComesBackWhileItIsCheckedIsCheckedAnew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 10 * time.Second}, 1)
		f.took(func(int) time.Duration { return 500 * time.Millisecond })
		f.watchAll()
		time.Sleep(200 * time.Millisecond)
		f.watch()
		time.Sleep(200 * time.Millisecond)
		f.watchAll()
		time.Sleep(2 * time.Second)
		// The first check may have asked another machine than the second, which follows at
		// once, as that of a new address.
		if got, want := f.startsOf(0), []time.Duration{0, 500 * time.Millisecond}; !slices.Equal(got, want) {
			t.Errorf("got checks at %s, want %s", got, want)
		}
		if got := len(f.results()); got != 1 {
			t.Errorf("got %d results, want that of the second check only", got)
		}
	})
}

func TestResultsWaitForOthersAndMakeOneBatch(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 10 * time.Second, Gather: 96 * time.Millisecond}, 12)
		f.took(func(i int) time.Duration { return time.Duration(10*i+5) * time.Millisecond })
		f.watchAll()
		time.Sleep(time.Second)
		var sizes []int
		for _, batch := range f.batches() {
			sizes = append(sizes, len(batch))
		}
		// The first result waits from 5 ms to 101 ms and takes those until 95 ms with
		// it; the last ones come at 105 ms and 115 ms.
		if want := []int{10, 2}; !slices.Equal(sizes, want) {
			t.Errorf("got batches of %d results, want %d", sizes, want)
		}
	})
}

func TestBatchesKeepTheirDistance(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 10 * time.Second, Gather: 500 * time.Millisecond}, 2)
		f.watch(0)
		time.Sleep(100 * time.Millisecond)
		f.watchAll()
		time.Sleep(350 * time.Millisecond)
		if got := len(f.batches()); got != 1 {
			t.Errorf("got %d batches after 450 ms, want 1", got)
		}
		time.Sleep(100 * time.Millisecond)
		if got := len(f.batches()); got != 2 {
			t.Errorf("got %d batches after 550 ms, want 2", got)
		}
	})
}

func TestAResultThatNothingCouldFollowDoesNotWait(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 10 * time.Second, Gather: time.Second}, 3)
		f.watchAll()
		synctest.Wait()
		time.Sleep(time.Nanosecond)
		if got := len(f.results()); got != 3 {
			t.Errorf("got %d results at once, want 3", got)
		}
	})
}

func TestContract33AConsumerThatTakesNothingStopsTheChecksAndNothingElse(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 100)
		f.consume(false)
		f.watchAll()
		time.Sleep(time.Minute)
		if got := len(f.allStarts()); got != 100 {
			t.Errorf("got %d checks while the results were not taken, want 100", got)
		}
		if got := f.loop.Stats(); got.Undelivered != 100 || got.Overruns == 0 {
			t.Errorf("got %+v, want 100 undelivered results and overruns", got)
		}
		before := f.now()
		f.consume(true)
		time.Sleep(time.Second)
		if got := f.startsBetween(before, before+time.Second); got > 60 {
			t.Errorf("got %d checks in half an interval, want about 50: what was missed is not caught up", got)
		}
	})
}

func TestContract33TenThousandAddressesAtRestNeedOneGoroutine(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		before := inBubbles()
		f := newFleet(t, health.LoopOptions{Interval: time.Hour}, 10_000)
		f.took(func(int) time.Duration { return time.Millisecond })
		f.watchAll()
		time.Sleep(time.Minute)
		if got := len(f.allStarts()); got != 10_000 {
			t.Fatalf("got %d checks, want 10000", got)
		}
		// Run, the consumer of the test, and nothing for the addresses.
		if got := inBubbles() - before; got > 3 {
			t.Errorf("got %d goroutines more, want at most 3", got)
		}
		if got := f.mostInFlight(); got != 256 {
			t.Errorf("got %d checks at once, want 256", got)
		}
	})
}

func TestRunEndsWithItsContextAndTheChecksInFlight(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 10)
		f.took(func(int) time.Duration { return time.Hour })
		f.watchAll()
		time.Sleep(time.Second)
		before := f.now()
		f.stop()
		if got := f.now() - before; got != 0 {
			t.Errorf("got %s until Run returned, want no time", got)
		}
		if got := f.loop.Take(); got != nil {
			t.Errorf("got %d results of checks that were cut off, want none", len(got))
		}
	})
}
