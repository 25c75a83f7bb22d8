package health_test

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// overlapping are options as the pool has them with the defaults.
var overlapping = health.LoopOptions{Interval: 2 * time.Second, FastInterval: 200 * time.Millisecond, Gather: 20 * time.Millisecond, Overlap: 500 * time.Millisecond}

// mute makes checks end after a second without an answer.
func (f *fleet) mute() {
	f.took(func(int) time.Duration { return time.Second })
	f.answers(func(int) inventory.Outcome { return inventory.Silent })
}

// urgently watches one address whose state is in question.
func (f *fleet) urgently(i int) {
	f.loop.Watch([]inventory.Watch{{Address: f.address(i), Urgent: true}})
}

func TestContract12ChecksOfAnAddressThatFallsSilentOverlap(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, overlapping, 1)
		f.watchAll()
		time.Sleep(100 * time.Millisecond)
		f.mute()
		time.Sleep(3 * time.Second) // the first result without an answer is at 3 s
		f.urgently(0)
		time.Sleep(1100 * time.Millisecond)
		want := []time.Duration{0, 2 * time.Second, 2500 * time.Millisecond, 3 * time.Second, 3500 * time.Millisecond, 4 * time.Second}
		if got := f.startsOf(0); !slices.Equal(got, want) {
			t.Errorf("got checks at %s, want %s: half a time-out apart", got, want)
		}
		var failed int
		for _, r := range f.results() {
			if r.Outcome == inventory.Silent {
				failed++
			}
		}
		if failed != 3 {
			t.Errorf("got %d failures two time-outs after the first check of the silence, want 3", failed)
		}
	})
}

func TestContract12ThePauseOfABackendMeetsACheckThatWasSentLater(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, overlapping, 1)
		f.watchAll()
		time.Sleep(100 * time.Millisecond)
		f.mute()
		time.Sleep(3100 * time.Millisecond) // 3.2 s
		f.urgently(0)
		f.took(func(int) time.Duration { return 0 })
		f.answers(func(int) inventory.Outcome { return inventory.Pass })
		time.Sleep(300 * time.Millisecond) // the check at 3.5 s passes before those of 2.5 and 3 s end
		f.answers(func(int) inventory.Outcome {
			if f.now() < 3600*time.Millisecond {
				return inventory.Pass
			}
			return inventory.Silent
		})
		time.Sleep(600 * time.Millisecond)
		checks := health.Advance(inventory.Health{}, f.results())
		if streak := checks.Of(f.address(0)); streak.Fails >= 3 {
			t.Errorf("got %d failures in a row, want fewer: a check that was sent later passed", streak.Fails)
		}
	})
}

func TestAnAddressThatIsKnownToBeSilentIsNotCheckedTwiceAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, overlapping, 1)
		f.mute()
		f.watchAll()
		time.Sleep(3500 * time.Millisecond)
		before := len(f.startsOf(0))
		time.Sleep(8 * time.Second)
		if got := len(f.startsOf(0)) - before; got != 4 {
			t.Errorf("got %d checks in four intervals, want 4", got)
		}
	})
}

func TestAnAddressThatLeavesWhileItsChecksOverlapIsForgottenWithTheLast(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, overlapping, 1)
		f.mute()
		f.watchAll()
		time.Sleep(700 * time.Millisecond)
		f.watch()
		time.Sleep(100 * time.Millisecond)
		f.watchAll()
		time.Sleep(600 * time.Millisecond) // the checks of the first life have ended at 1 and 1.5 s
		if got := f.results(); len(got) != 0 {
			t.Errorf("got results %v of checks that began before the address was watched anew", got)
		}
		time.Sleep(300 * time.Millisecond)
		if got := f.startsOf(0); len(got) != 3 || got[2] != 1500*time.Millisecond {
			t.Errorf("got checks at %s, want the third when those of the first life have ended", got)
		}
	})
}

func TestAnAlarmHasAnAddressCheckedAtOnceUntilItPasses(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, overlapping, 2)
		f.watchAll()
		time.Sleep(300 * time.Millisecond)
		f.loop.Alarm(f.address(0), 3)
		f.loop.Alarm(netip.MustParseAddr("10.9.9.9"), 3)
		time.Sleep(900 * time.Millisecond)
		if got, want := f.startsOf(0), []time.Duration{0, 300 * time.Millisecond}; !slices.Equal(got, want) {
			t.Errorf("got checks at %s, want %s: it passed", got, want)
		}
		f.answers(func(int) inventory.Outcome { return inventory.Refused })
		f.loop.Alarm(f.address(0), 3)
		time.Sleep(700 * time.Millisecond)
		want := []time.Duration{1200 * time.Millisecond, 1400 * time.Millisecond, 1600 * time.Millisecond}
		if got := f.startsOf(0)[2:]; !slices.Equal(got, want) {
			t.Errorf("got checks at %s, want %s: three, a fast interval apart", got, want)
		}
	})
}

func TestWhatAnswersAnAlarmDoesNotWaitForOtherResults(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, overlapping, 2)
		f.took(func(int) time.Duration { return 2 * time.Millisecond })
		f.watchAll()
		time.Sleep(100 * time.Millisecond)
		f.took(func(i int) time.Duration { return time.Duration(1+i*400) * time.Millisecond })
		f.loop.Alarm(f.address(1), 3)
		before := len(f.results())
		f.loop.Alarm(f.address(0), 3)
		time.Sleep(2 * time.Millisecond)
		if got := len(f.results()) - before; got != 1 {
			t.Errorf("got %d results 2 ms after the alarm, want 1, though another check runs", got)
		}
	})
}

func TestAlarmsNeverTakeMoreThanHalfOfTheSlots(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFleet(t, overlapping, 12, 4)
		f.watchAll()
		time.Sleep(2100 * time.Millisecond)
		f.took(func(i int) time.Duration {
			if i < 8 {
				return 10 * time.Second
			}
			return time.Millisecond
		})
		for i := range 8 {
			f.loop.Alarm(f.address(i), 3)
		}
		synctest.Wait()
		if got := f.loop.Stats().InFlight; got != 2 {
			t.Errorf("got %d checks in flight, want 2 of 4 slots for alarms", got)
		}
		time.Sleep(2500 * time.Millisecond)
		for i := 8; i < 12; i++ {
			if got := len(f.startsOf(i)); got != 3 {
				t.Errorf("address %d without an alarm: got %d checks, want 3", i, got)
			}
		}
	})
}
