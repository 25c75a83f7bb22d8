package bench_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench"
)

// both takes both sides through the history.
func both(t *testing.T, h bench.History) (upstream, ours bench.Tally) {
	t.Helper()
	upstream, err := h.Run(bench.NewUpstream())
	if err != nil {
		t.Fatalf("upstream: %v", err)
	}
	ours, err = h.Run(bench.NewOurs())
	if err != nil {
		t.Fatalf("ours: %v", err)
	}
	t.Logf("upstream %+v", upstream)
	t.Logf("ours     %+v", ours)
	return upstream, ours
}

func TestAfterAThousandReplacementsThereIsAtMostOneSliceTooMany(t *testing.T) {
	for _, n := range []int{10, 99, 200} {
		h := bench.Replacements(n, 1_000)
		t.Run(h.Name, func(t *testing.T) {
			upstream, ours := both(t, h)
			if most := (n+bench.MaxPerSlice-1)/bench.MaxPerSlice + 1; ours.Used > most || ours.Used > upstream.Used {
				t.Errorf("got %d slices, want at most %d, and at most upstream's %d", ours.Used, most, upstream.Used)
			}
			if ours.Updates != 1_000 {
				t.Errorf("1,000 replacements made %d updates, want one each", ours.Updates)
			}
		})
	}
}

// TestBatchesAndShrinkingLeaveFewSlicesForFewWrites: at most twice as many slices as
// are needed. Ours cannot also write fewer endpoints than upstream: when a tenth of
// the endpoints goes, every full slice is written, but upstream has many slices with
// few endpoints, and some of those are not. So the test checks that the order in the
// slices costs almost nothing.
func TestBatchesAndShrinkingLeaveFewSlicesForFewWrites(t *testing.T) {
	for _, h := range []bench.History{bench.Batches(5_000, 20), bench.Shrunk(5_000), bench.GrownBack(5_000)} {
		t.Run(h.Name, func(t *testing.T) {
			upstream, ours := both(t, h)
			if most := 2 * h.Size / bench.MaxPerSlice; ours.Used > most || ours.Used >= upstream.Used {
				t.Errorf("got %d slices that hold endpoints, want at most %d, and fewer than upstream's %d", ours.Used, most, upstream.Used)
			}
			if most := upstream.Written + upstream.Written/50; ours.Written > most {
				t.Errorf("ours wrote %d endpoints and upstream %d, want at most 2 %% more", ours.Written, upstream.Written)
			}
			if ours.Requests() > upstream.Requests() {
				t.Errorf("ours made %d requests and upstream %d, want no more", ours.Requests(), upstream.Requests())
			}
		})
	}
}
