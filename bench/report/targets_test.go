package main // a program has no tests from outside

import (
	"strings"
	"testing"
)

// filled is what a run of targets could print, whose targets are met.
const filled = `load-before: 0.10
cores: 2
BenchmarkTargetsFirst/targets=1000/endpoints=100/side=daemon 1 9000000000 ns/op
BenchmarkTargetsStart/targets=1000/endpoints=100/side=daemon 1 900000000 ns/op 0 writes
BenchmarkTargetsRest/targets=1/endpoints=100/side=daemon 1 0.01 cores 0 requests 2 watches 50 checks/s 20 s 60 goroutines 30000000 resident-B 31000000 peak-B
BenchmarkTargetsRest/targets=1000/endpoints=100/side=daemon 1 0.0102 cores 0 requests 40 watches 50 checks/s 20 s 140 goroutines 70000000 resident-B 75000000 peak-B
BenchmarkTargetsRest/targets=1000/endpoints=100/side=manager-unlimited 1 236000000 resident-B 240000000 peak-B
BenchmarkTargetsDown/targets=1000/endpoints=100/side=daemon 1 3300000000 ns/op 5000000 first-ns/op 1600000000 half-ns/op 300000 cpu-ns/target 1 writes/target 0 reads/target 0.1 events/target
BenchmarkTargetsDown/targets=1000/endpoints=100/side=writers 1 3000000000 ns/op 4000000 first-ns/op 1500000000 half-ns/op 200000 cpu-ns/target
BenchmarkTargetsDown/targets=1000/endpoints=100/side=manager 1 48600000000 ns/op
BenchmarkTargetsDown/targets=1000/endpoints=100/side=manager-unlimited 1 4000000000 ns/op 600000 cpu-ns/target
BenchmarkTargetsUp/targets=1000/endpoints=100/side=daemon 1 6000000000 ns/op 5000000 first-ns/op 1600000000 half-ns/op
BenchmarkTargetsUp/targets=1000/endpoints=100/side=writers 1 3000000000 ns/op
`

// carried is the same of bindings in the API server.
const carried = `load-before: 0.10
cores: 2
BenchmarkTargetsStart/targets=1000/endpoints=100/side=files 1 800000000 ns/op 0 writes
BenchmarkTargetsStart/targets=1000/endpoints=100/side=objects 1 950000000 ns/op 0 writes
BenchmarkTargetsRest/targets=1000/endpoints=100/side=files 1 0.01 cores 0 requests 72000000 resident-B
BenchmarkTargetsRest/targets=1000/endpoints=100/side=objects 1 0.01 cores 0 requests 78000000 resident-B
BenchmarkTargetsStatusDown/targets=1000/endpoints=100/side=objects 1 2200000000 ns/op 1 statuses/target 0 early
BenchmarkTargetsStatusUp/targets=1000/endpoints=100/side=objects 1 2100000000 ns/op 1 statuses/target 0 early
`

func TestThePageShowsManyServicesBesideTheBareWriters(t *testing.T) {
	r, err := parse(filled)
	if err != nil {
		t.Fatal(err)
	}
	text := page([]part{presentTargets(r)})
	for _, want := range []string{
		"| 1,000 x 100 | 5 ms | 1.6 s | 3.3 s | 3 s | 1.10 | 4 s | 48.6 s |", "| 1,000 x 100 | 5 ms | 1.6 s | 6 s | 3 s | 2.00 |  |",
		"| 1,000 x 100 | 1 | 0 | 0.1 | 300 µs | 200 µs | 600 µs |",
		"| 1,000 x 100 | 70 MB | 75 MB | 0.0102 | 0 | 20 s | 40 | 50 | 140 | 900 ms | 0 | 9 s | 236 MB |", "| 1 x 100 | 30 MB |",
		"1.10 times (3.3 s, 3 s) | met |", "+2 % (0.0102 and 0.0100 cores) | met |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "%!") {
		t.Errorf("got nonsense in\n%s", text)
	}
}

func TestTheTargetsOfManyServicesCanBeMissed(t *testing.T) {
	worse := strings.NewReplacer("3300000000 ns/op", "3700000000 ns/op", "1 writes/target", "1.1 writes/target", "70000000 resident-B", "81000000 resident-B", "0 requests 40 watches 50 checks", "1 requests 40 watches 60 checks",
		"0 writes", "1 writes", "0.0102 cores", "0.0106 cores", "140 goroutines", "1140 goroutines").Replace(filled)
	for raw, want := range map[string]bool{filled: true, worse: false} {
		r, err := parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		targets := manyTargets(r)
		if len(targets) != 8 {
			t.Errorf("got %d targets, want 8", len(targets))
		}
		for _, target := range targets {
			if target.met != want {
				t.Errorf("%s: got met %t, want %t (%s)", target.question, target.met, want, target.found)
			}
		}
	}
}

func TestThePageComparesBindingsInTheAPIServerWithFiles(t *testing.T) {
	r, err := parse(carried)
	if err != nil {
		t.Fatal(err)
	}
	text := page([]part{presentCarriers(r)})
	for _, want := range []string{
		"| 1,000 x 100 | 72 MB | 78 MB | 800 ms | 950 ms | 0 | 1 | 0 | 2.2 s | 1 | 0 | 2.1 s |", "+6 MB (78 MB, 72 MB) | met |", "1 each, 0 before | met |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q in\n%s", want, text)
		}
	}
	worse, err := parse(strings.NewReplacer("78000000 resident-B", "83000000 resident-B", "0 early", "3 early").Replace(carried))
	if err != nil {
		t.Fatal(err)
	}
	targets := carrierTargets(worse)
	if len(targets) != 2 || targets[0].met || targets[1].met {
		t.Errorf("got %+v, want two targets that are missed", targets)
	}
}
