package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench"
)

// The targets of a pass, as shares of what upstream needs in the same run.
const (
	timeShare  = 50
	allocShare = 100
)

// change returns the change of that name.
func change(t *testing.T, name string) bench.Change {
	t.Helper()
	for _, c := range bench.Changes() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no change %q", name)
	return bench.Change{}
}

// least returns the duration of the fastest of some calls: other work of the machine
// makes calls slower, never faster.
func least(times int, call func()) time.Duration {
	fastest := time.Duration(0)
	for range times {
		begun := time.Now()
		call()
		if took := time.Since(begun); fastest == 0 || took < fastest {
			fastest = took
		}
	}
	return fastest
}

// passes returns one pass of each side after the change.
func passes(t *testing.T, n int, c bench.Change) (upstream, ours func()) {
	t.Helper()
	fleet := bench.NewFleet(n)
	theirs, own := start(t, fleet)
	pods, err := theirs.Pods(c.Apply(fleet))
	if err != nil {
		t.Fatal(err)
	}
	members := bench.Members(c.Apply(fleet))
	pass := func() {
		if _, err := theirs.Pass(pods); err != nil {
			t.Fatal(err)
		}
	}
	return pass, func() { own.Pass(members) }
}

func TestAPassTakesAFiftiethOfUpstreamsTime(t *testing.T) {
	for _, name := range []string{"none", "replaced"} {
		for _, n := range []int{1_000, 10_000} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				upstream, ours := passes(t, n, change(t, name))
				theirs, own := least(5, upstream), least(50, ours)
				t.Logf("upstream %v, ours %v: 1/%d", theirs, own, theirs/own)
				if own*timeShare > theirs {
					t.Errorf("a pass takes %v and upstream's %v, want at most 1/%d of it", own, theirs, timeShare)
				}
			})
		}
	}
}

func TestAPassWithoutAChangeMakesAHundredthOfUpstreamsAllocations(t *testing.T) {
	for _, n := range []int{1_000, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			upstream, ours := passes(t, n, change(t, "none"))
			theirs, own := testing.AllocsPerRun(2, upstream), testing.AllocsPerRun(5, ours)
			t.Logf("upstream %.0f, ours %.0f: 1/%.0f", theirs, own, theirs/own)
			if own*allocShare > theirs {
				t.Errorf("a pass makes %.0f allocations and upstream's %.0f, want at most 1/%d of them", own, theirs, allocShare)
			}
		})
	}
}

func TestAPassWritesNoMoreSlicesThanTheChangeNeeds(t *testing.T) {
	want := map[string]int{"none": 0, "replaced": 1, "flipped": 1}
	for _, n := range []int{10, 100, 1_000, 10_000} {
		fleet := bench.NewFleet(n)
		upstream, ours := start(t, fleet)
		for _, c := range bench.Changes() {
			pods, err := upstream.Pods(c.Apply(fleet))
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := upstream.Pass(pods)
			if err != nil {
				t.Fatal(err)
			}
			got := len(ours.Pass(bench.Members(c.Apply(fleet))))
			if exactly, known := want[c.Name]; known && got != exactly {
				t.Errorf("%d endpoints, change %s: ours writes %d slices, want %d", n, c.Name, got, exactly)
			}
			if got > theirs {
				t.Errorf("%d endpoints, change %s: ours writes %d slices, want no more than upstream's %d", n, c.Name, got, theirs)
			}
		}
	}
}
