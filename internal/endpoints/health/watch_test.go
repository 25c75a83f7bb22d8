package health_test

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// drawTargets draws some of few addresses, of which some are urgent.
func drawTargets(f *fleet, random *rand.Rand) (targets []inventory.Watch, urgent map[netip.Addr]bool) {
	urgent = map[netip.Addr]bool{}
	for i := range 8 {
		if target := (inventory.Watch{Address: f.address(i), Urgent: random.IntN(4) == 0}); random.IntN(3) > 0 {
			targets = append(targets, target)
			urgent[target.Address] = target.Urgent
		}
	}
	return targets, urgent
}

func TestWhateverWasWatchedBeforeExactlyTheTargetsAreChecked(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const interval = 2 * time.Second
		f := newFleet(t, health.LoopOptions{Interval: interval}, 8)
		f.took(func(i int) time.Duration { return time.Duration(i) * 100 * time.Millisecond })
		random := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			targets, urgent := drawTargets(f, random)
			given := slices.Clone(targets)
			f.loop.Watch(targets)
			if !slices.Equal(given, targets) {
				t.Fatalf("Watch changed the targets %v to %v", given, targets)
			}
			clear(targets) // they are the caller's own
			begun := f.now()
			time.Sleep(time.Duration(random.IntN(3)) * 150 * time.Millisecond)
			if random.IntN(3) > 0 {
				continue // watched again before much has happened
			}
			time.Sleep(2 * interval)
			if got := f.loop.Stats().Addresses; got != len(urgent) {
				t.Fatalf("got %d addresses watched, want %d", got, len(urgent))
			}
			for i := range f.size {
				since := len(f.startsOf(i)) - indexAfter(f.startsOf(i), begun)
				isUrgent, watched := urgent[f.address(i)]
				if least, most := 1, 4; watched && !isUrgent && (since < least || since > most) || watched && isUrgent && since < 4 || !watched && since > 0 {
					t.Fatalf("address %d, watched %t, urgent %t: got %d checks in two intervals", i, watched, isUrgent, since)
				}
			}
		}
	})
}

// indexAfter returns how many of the sorted times are not after the given one.
func indexAfter(times []time.Duration, at time.Duration) int {
	i := slices.IndexFunc(times, func(t time.Duration) bool { return t > at })
	if i < 0 {
		return len(times)
	}
	return i
}

// manyTargets returns a loop that watches size addresses, and the addresses.
func manyTargets(tb testing.TB, size int) (*health.Loop, []inventory.Watch) {
	tb.Helper()
	loop := health.NewLoop(health.LoopOptions{
		Check:    func(context.Context, netip.Addr) inventory.Result { return inventory.Result{} },
		Interval: time.Second,
	})
	targets := make([]inventory.Watch, size)
	for i := range targets {
		targets[i].Address = netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
	}
	loop.Watch(targets)
	return loop, targets
}

func TestWatchingTheSameAgainOrOneUrgentlyAllocatesNothing(t *testing.T) {
	loop, targets := manyTargets(t, 1_000)
	if got := testing.AllocsPerRun(5, func() { loop.Watch(targets) }); got != 0 {
		t.Errorf("the same again: got %.0f allocations, want none", got)
	}
	if got := testing.AllocsPerRun(5, func() { targets[7].Urgent = !targets[7].Urgent; loop.Watch(targets) }); got != 0 {
		t.Errorf("one urgently: got %.0f allocations, want none", got)
	}
}

// BenchmarkWatch is what a pass costs in the loop.
func BenchmarkWatch(b *testing.B) {
	for _, size := range []int{1_000, 10_000} {
		loop, targets := manyTargets(b, size)
		b.Run(sized(size)+"/same", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				loop.Watch(targets)
			}
		})
		b.Run(sized(size)+"/one_urgent", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				targets[7].Urgent = !targets[7].Urgent
				loop.Watch(targets)
			}
		})
	}
}
