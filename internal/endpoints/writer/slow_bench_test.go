package writer_test

import (
	"context"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestContract26ASlowStoreWithBrokenSlices: the budgets that the benchmarks show.
func TestContract26ASlowStoreWithBrokenSlices(t *testing.T) {
	for name, c := range map[string]struct{ answers, most time.Duration }{
		"a second for each write": {time.Second, 3 * time.Second},
		"at once":                 {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for i, got := range measure(t, 250, c.answers, true) {
				if got > c.most {
					t.Errorf("loss %d: down in the store after %s, want %s at most", i, got, c.most)
				}
			}
		})
	}
}

// BenchmarkSlowStore has 250 slices to write to a store that needs a second for
// each, refuses one and hangs over another until its deadline. Meanwhile endpoints
// die, one in 7 s, the first after 2 s. The figures are simulated seconds from the
// verdict until the store says that the endpoint is down.
func BenchmarkSlowStore(b *testing.B) {
	var all []time.Duration
	for b.Loop() {
		all = append(all, measure(&testing.T{}, 250, time.Second, true)...)
	}
	report(b, all)
}

// BenchmarkBrokenSlices compares a store that answers at once, with and without
// one slice that it refuses and one that hangs: how long others' changes wait.
func BenchmarkBrokenSlices(b *testing.B) {
	for _, broken := range []bool{false, true} {
		b.Run(map[bool]string{false: "none", true: "two"}[broken], func(b *testing.B) {
			var all []time.Duration
			for b.Loop() {
				all = append(all, measure(&testing.T{}, 250, 0, broken)...)
			}
			report(b, all)
		})
	}
}

// measure returns how long each of ten losses waited, while all slices differ.
func measure(t *testing.T, size int, answers time.Duration, broken bool) (waits []time.Duration) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.decide(inventory.StateReady, upTo(size)...)
		during(time.Minute)
		w.set(func() {
			w.write = func(ctx context.Context, write publish.Write) error {
				switch {
				case broken && write.Slice.Name == "web-17":
					return errRefused
				case broken && write.Slice.Name == "web-18":
					return wait(ctx, time.Hour)
				}
				if answers == 0 {
					return nil
				}
				return wait(ctx, answers)
			}
		})
		w.rezone("z2")
		during(2 * time.Second)
		for i := range 10 {
			waits = append(waits, w.downAfter(100+i*15))
			during(7 * time.Second)
		}
		w.stop()
	})
	return waits
}

// report reports the mean and the longest wait.
func report(b *testing.B, waits []time.Duration) {
	b.Helper()
	var sum, worst time.Duration
	for _, wait := range waits {
		sum, worst = sum+wait, max(worst, wait)
	}
	b.ReportMetric((sum / time.Duration(len(waits))).Seconds(), "s-mean")
	b.ReportMetric(worst.Seconds(), "s-worst")
}
