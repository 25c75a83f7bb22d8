package main // a program has no tests from outside

import (
	"strings"
	"testing"
)

// seen is what a run of views could print, whose targets are met.
const seen = `load-before: 0.10
cores: 2
BenchmarkViewsIdle/endpoints=1000/readers=0/side=views 1 0 requests 2 watches 70 s 0.001 cores
BenchmarkViewsChange/endpoints=1000/readers=1/side=views 1 8000000 ns/op 8000000 last-ns/op
BenchmarkViewsChange/endpoints=1000/readers=1/side=bare 1 5000000 ns/op
BenchmarkViewsChange/endpoints=10000/readers=1/side=views 1 20000000 ns/op 20000000 last-ns/op
BenchmarkViewsChange/endpoints=10000/readers=1/side=bare 1 10000000 ns/op
BenchmarkViewsBurst/endpoints=1000/readers=50/side=views 1 200000000 ns/op 5000 events/s 0 after-write-ns/op 20000000 cpu-ns/op
BenchmarkViewsBurst/endpoints=1000/readers=50/side=bare 1 100000000 ns/op 10000 events/s 0 after-write-ns/op 5000000 cpu-ns/op
BenchmarkViewsMemory/endpoints=10000/readers=50/side=views 1 90000000 resident-B
BenchmarkViewsMemory/endpoints=10000/readers=50/side=bare 1 36000000 resident-B
BenchmarkViewsFlips/endpoints=1000/readers=1/side=views 1 101 flips 98 lines 101 bare-lines 10 reconciles 16000 after-write-ns/op 12000 bare-after-write-ns/op
BenchmarkViewsOutage/endpoints=1000/readers=1/side=views 1 5000000000 away-ns/op 1200000000 ns/op 1 lines
BenchmarkViewsOutage/endpoints=1000/readers=1/side=bare 1 5000000000 away-ns/op 3400000000 ns/op 1 lines
BenchmarkViewsMemory/endpoints=10000/readers=500/side=views 1 150000000 resident-B
`

func TestThePageShowsTheViewsBesideTheBareInformer(t *testing.T) {
	r, err := parse(seen)
	if err != nil {
		t.Fatal(err)
	}
	text := page([]part{presentViews(r)})
	for _, want := range []string{
		"| 1,000 | 1 | 8 ms | 8 ms | 8 ms | 5 ms | 1.60 |", "| 1,000 | 50 | 5,000 | 250,000 | 10,000 | 2.00 | 20 µs | 5 µs |",
		"| 10,000 | 50 | 90 MB | 36 MB |", "| 1,000 | 101 | 98 | 101 | 10 | 16 µs |", "| 1,000 | 70 s | 0 | 2 | 0.0010 |", "20 ms, 2.00 times the bare informer's",
		"| 1,000 | 5 s | 1.2 s | 1 | 3.4 s | 1 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "%!") {
		t.Errorf("got nonsense in\n%s", text)
	}
}

func TestTheTargetsOfViewsCanBeMissed(t *testing.T) {
	worse := strings.NewReplacer("8000000 ns/op", "11000000 ns/op", "20000000 ns/op", "31000000 ns/op", "90000000 resident-B", "110000000 resident-B", "0 requests", "1 requests", "16000 after", "160000000 after").Replace(seen)
	for raw, want := range map[string]bool{seen: true, worse: false} {
		r, err := parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		targets := viewsTargets(r)
		if len(targets) != 5 {
			t.Errorf("got %d targets, want 5", len(targets))
		}
		for _, target := range targets {
			if target.met != want {
				t.Errorf("%s: got met %t, want %t (%s)", target.question, target.met, want, target.found)
			}
		}
	}
}
