package health_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestContract12RoundsThatDoNotFitAreCountedAndThoseThatFitAreNot(t *testing.T) {
	tests := []struct {
		name            string
		addresses       int
		concurrency     int
		check           time.Duration
		least, overruns uint64 // in ten intervals
	}{
		{"quick checks fit", 100, 10, 10 * time.Millisecond, 0, 0},
		{"slow checks fit in their three quarters", 9, 12, 1900 * time.Millisecond, 0, 0},
		{"checks longer than an interval", 1, 1, 5 * time.Second, 10, 10},
		{"the silence that check calls the most that fits", 384, 256, time.Second, 0, 1},
		{"a silence that needs all slots", 500, 256, time.Second, 5, 10},
		{"too few slots", 10, 1, time.Second, 10, 10},
		{"a check that never ends", 1, 10, time.Hour, 10, 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, test.addresses, test.concurrency)
				f.took(func(int) time.Duration { return test.check })
				f.watchAll()
				time.Sleep(20*time.Second + time.Millisecond)
				if got := f.loop.Stats().Overruns; got < test.least || got > test.overruns {
					t.Errorf("got %d overruns in ten intervals, want %d to %d", got, test.least, test.overruns)
				}
				if got := f.mostInFlight(); got > test.concurrency {
					t.Errorf("got %d checks at once, want at most %d", got, test.concurrency)
				}
			})
		})
	}
}

func TestContract12AnOverrunEndsWithItsCause(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 5, 1)
		f.took(func(int) time.Duration { return time.Second })
		f.watchAll()
		time.Sleep(20 * time.Second)
		f.took(func(int) time.Duration { return time.Millisecond })
		time.Sleep(4 * time.Second)
		before := f.loop.Stats().Overruns
		time.Sleep(20 * time.Second)
		if got := f.loop.Stats().Overruns; before == 0 || got != before {
			t.Errorf("got %d overruns in the hard time and %d after it, want some and none", before, got-before)
		}
	})
}

func TestASilentTenthDoesNotDelayTheOthers(t *testing.T) {
	// 100 silent addresses would need 50 slots all the time.
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 1_000, 40)
		f.took(func(i int) time.Duration {
			if i%10 == 0 {
				return time.Second
			}
			return time.Millisecond
		})
		f.watchAll()
		time.Sleep(10 * time.Second) // until the silent ones are known
		from := f.now()
		time.Sleep(20 * time.Second)
		for i := range 1_000 {
			starts := f.startsOf(i)
			late := starts[slices.IndexFunc(starts, func(at time.Duration) bool { return at > from }):]
			switch gap := widest(late); {
			case i%10 != 0 && gap != 2*time.Second:
				t.Fatalf("address %d: got %s between two checks, want 2s", i, gap)
			case i%10 == 0 && gap > 6*time.Second:
				t.Fatalf("silent address %d: got %s between two checks, want at most 6s", i, gap)
			}
		}
	})
}

func TestThoseKnownToBeSilentWaitUntilTheOthersAreKnown(t *testing.T) {
	// Everything is silent and there are slots for a tenth. If silent endpoints were
	// asked again first, they would be demoted before the loop sees that all are
	// silent. Then no endpoint may be demoted (contract 14).
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 1_000, 50)
		f.watchAll()
		time.Sleep(4 * time.Second)
		f.took(func(int) time.Duration { return time.Second })
		from := f.now()
		asked, urgent := map[netip.Addr]int{}, map[netip.Addr]bool{}
		for len(urgent) < 510 {
			time.Sleep(100 * time.Millisecond)
			var targets []inventory.Watch
			for i := range 1_000 {
				asked[f.address(i)] = 0
				for _, at := range f.startsOf(i) {
					if at > from && f.now()-at >= time.Second {
						asked[f.address(i)]++
						urgent[f.address(i)] = true
					}
				}
				targets = append(targets, inventory.Watch{Address: f.address(i), Urgent: urgent[f.address(i)]})
			}
			f.loop.Watch(targets)
		}
		for address, times := range asked {
			if times >= 3 {
				t.Errorf("%s was asked %d times before half of the others were asked once", address, times)
			}
		}
	})
}

func TestUrgentChecksGoFirstWhenSlotsAreShort(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second, FastInterval: 200 * time.Millisecond}, 40, 1)
		f.took(func(int) time.Duration { return 100 * time.Millisecond }) // needs 4 s for all
		var targets []inventory.Watch
		for i := range 40 {
			targets = append(targets, inventory.Watch{Address: f.address(i), Urgent: i == 39})
		}
		f.loop.Watch(targets)
		time.Sleep(30 * time.Second)
		if got := f.startsOf(39); len(got) == 0 || got[0] != 0 {
			t.Errorf("got the urgent one checked at %s, want it first at 0s", got)
		}
		if got := widest(f.startsOf(39)); got > 300*time.Millisecond {
			t.Errorf("got %s between two urgent checks, want 200ms and at most the check before", got)
		}
		for i := range 39 {
			if got := len(f.startsOf(i)); got < 2 {
				t.Errorf("address %d: got %d checks in 30 s, want that urgent ones do not shut it out", i, got)
			}
		}
	})
}

func TestUrgentChecksDoNotShutTheOthersOut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second, FastInterval: 200 * time.Millisecond}, 10, 1)
		f.took(func(int) time.Duration { return 100 * time.Millisecond })
		var targets []inventory.Watch
		for i := range 10 { // 9 urgent ones need 4.5 slots
			targets = append(targets, inventory.Watch{Address: f.address(i), Urgent: i > 0})
		}
		f.loop.Watch(targets)
		time.Sleep(time.Minute)
		if got := widest(f.startsOf(0)); got > 8*time.Second {
			t.Errorf("got %s between two regular checks, want at most 8s", got)
		}
	})
}

func TestAnUrgentSilentAddressDoesNotShutTheOthersOut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, health.LoopOptions{Interval: 2 * time.Second}, 5, 1)
		f.took(func(i int) time.Duration {
			if i == 0 {
				return time.Second
			}
			return time.Millisecond
		})
		var targets []inventory.Watch
		for i := range 5 {
			targets = append(targets, inventory.Watch{Address: f.address(i), Urgent: i == 0})
		}
		f.loop.Watch(targets)
		time.Sleep(time.Minute)
		for i := range 4 {
			if got := widest(f.startsOf(i + 1)); got > 4*time.Second {
				t.Errorf("address %d: got %s between two checks, want at most 4s", i+1, got)
			}
		}
	})
}

// TestContract12WhateverHappensNoAddressIsCheckedTwiceAtOnce drives a loop
// through random histories. The fleet itself sees to it that no address is
// checked twice at once.
func TestContract12WhateverHappensNoAddressIsCheckedTwiceAtOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 40).Draw(r, "steps")
		var mistakes []string
		bubble.Test(t, func(t *testing.T) { mistakes = drive(t, steps) })
		if len(mistakes) > 0 {
			r.Fatal(mistakes)
		}
	})
}

// historyStep is one step of a random history.
type historyStep struct {
	watch    []bool // which of the addresses, nil for as before
	urgent   []bool
	consume  bool
	duration time.Duration // of checks from now on
	pause    time.Duration
}

const historySize = 6

func drawStep(t *rapid.T) historyStep {
	flags := rapid.SliceOfN(rapid.Bool(), historySize, historySize)
	pauses := []time.Duration{0, time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, time.Second, 7 * time.Second}
	step := historyStep{
		consume:  rapid.IntRange(0, 3).Draw(t, "consume") > 0,
		duration: rapid.SampledFrom(pauses).Draw(t, "duration"),
		pause:    rapid.SampledFrom(pauses).Draw(t, "pause"),
		urgent:   flags.Draw(t, "urgent"),
	}
	if rapid.Bool().Draw(t, "change") {
		step.watch = flags.Draw(t, "watch")
	}
	return step
}

// drive takes a loop through the steps and returns what it did wrong.
func drive(t *testing.T, steps []historyStep) (mistakes []string) {
	const interval, concurrency = time.Second, 3
	f := newFleet(t, health.LoopOptions{Interval: interval}, historySize, concurrency)
	watched := make([]bool, historySize)
	for _, step := range steps {
		f.took(func(int) time.Duration { return step.duration })
		if step.watch != nil {
			watched = step.watch
		}
		var targets []inventory.Watch
		for i, watch := range watched {
			if watch {
				targets = append(targets, inventory.Watch{Address: f.address(i), Urgent: step.urgent[i]})
			}
		}
		f.loop.Watch(targets)
		before := len(f.allStarts())
		unwatched := f.unwatched(watched)
		delivered := len(f.results())
		f.consume(step.consume)
		time.Sleep(step.pause)
		for _, result := range f.results()[delivered:] {
			if !watched[f.indexOf(result.Address)] {
				mistakes = append(mistakes, fmt.Sprintf("a result of %s was handed out", result.Address))
			}
		}
		if got := f.unwatched(watched); got != unwatched {
			mistakes = append(mistakes, fmt.Sprintf("%d checks of addresses that are not watched, of %d", got-unwatched, len(f.allStarts())-before))
		}
	}
	return append(mistakes, f.recovers(watched, interval, concurrency)...)
}

// unwatched counts the checks of the addresses that are not watched.
func (f *fleet) unwatched(watched []bool) (count int) {
	synctest.Wait()
	for i, watch := range watched {
		if !watch {
			count += len(f.startsOf(i))
		}
	}
	return count
}

// recovers lets the loop continue with quick checks, and returns every deviation:
// each watched address must be checked in every interval.
func (f *fleet) recovers(watched []bool, interval time.Duration, concurrency int) (mistakes []string) {
	f.took(func(int) time.Duration { return time.Millisecond })
	f.consume(true)
	time.Sleep(30 * time.Second)
	from := f.now()
	time.Sleep(10 * interval)
	for i, watch := range watched {
		count := 0
		for _, at := range f.startsOf(i) {
			if at > from {
				count++
			}
		}
		if watch && count < 9 {
			mistakes = append(mistakes, fmt.Sprintf("%d checks of address %d in ten intervals", count, i))
		}
	}
	if f.mostInFlight() > concurrency {
		mistakes = append(mistakes, fmt.Sprintf("%d checks at once", f.mostInFlight()))
	}
	return append(mistakes, f.mistakes...)
}
