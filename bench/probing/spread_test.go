package probing_test

import (
	"math"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

const second = time.Second

// even returns arrivals at n backends, each once a second, for some seconds.
func even(n, seconds int) []probing.Arrival {
	var arrivals []probing.Arrival
	for i := range n * seconds {
		arrivals = append(arrivals, probing.Arrival{Backend: i % n, At: time.Duration(i) * second / time.Duration(n)})
	}
	return arrivals
}

func TestAnEvenRoundHasNoVariation(t *testing.T) {
	average, variation := probing.Spread(even(100, 3), second, 3)
	if variation > 1e-9 {
		t.Errorf("got variation %v, want 0", variation)
	}
	for i, count := range average {
		if math.Abs(count-5) > 1e-9 {
			t.Errorf("bin %d: got %v, want 5", i, count)
		}
	}
}

func TestABurstHasTheGreatestVariation(t *testing.T) {
	arrivals := make([]probing.Arrival, 100)
	if _, got := probing.Spread(arrivals, second, 1); math.Abs(got-math.Sqrt(probing.Bins-1)) > 1e-9 {
		t.Errorf("got %v, want the square root of 19", got)
	}
}

func TestDeviationsAreOfOneBackendEach(t *testing.T) {
	arrivals := even(10, 3)
	arrivals[25].At += 40 * time.Millisecond
	got := probing.Deviations(arrivals, second)
	if len(got) != 20 || got[18] != 0 || got[19] != 40*time.Millisecond {
		t.Errorf("got %v, want 19 times nothing and once 40ms", got)
	}
	if p := probing.Percentile(got, 50); p != 0 {
		t.Errorf("got median %v, want 0", p)
	}
	if p := probing.Percentile(got, 99); p != 40*time.Millisecond {
		t.Errorf("got 99th percentile %v, want 40ms", p)
	}
}

func TestAnAddressLeadsBackToItsBackend(t *testing.T) {
	for _, slow := range []probing.Slow{probing.Nothing, probing.Silent} {
		c := probing.Case{Slow: slow}
		for _, i := range []int{0, 9, 254, 255, 9_999, 70_009} {
			if got := probing.Backend(c.Address(i)); got != i {
				t.Errorf("tenth %s, backend %d at %s: got %d", slow, i, c.Address(i), got)
			}
		}
	}
}
