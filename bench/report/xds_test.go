package main // a program has no tests from outside

import (
	"strings"
	"testing"
)

// pushed is what a run of xDS could print, whose targets are met.
const pushed = `load-before: 0.10
cores: 2
BenchmarkXDSBinary/side=views 1 35000000 B
BenchmarkXDSChange/endpoints=1000/readers=50/side=views 1 12000000 ns/op 11000000 median-ns/op
BenchmarkXDSChange/endpoints=1000/readers=50/side=bare 1 10000000 ns/op 9000000 median-ns/op
BenchmarkXDSCost/endpoints=1000/readers=50/side=views 1 25900 wire-B/op 3000000 cpu-ns/op 40000000 resident-B
BenchmarkXDSCost/endpoints=1000/readers=50/side=bare 1 25800 wire-B/op 2000000 cpu-ns/op 50000000 resident-B
BenchmarkXDSChange/endpoints=10000/readers=1/side=views 1 30000000 ns/op 30000000 median-ns/op
BenchmarkXDSChange/endpoints=10000/readers=1/side=bare 1 20000000 ns/op 20000000 median-ns/op
BenchmarkXDSCost/endpoints=10000/readers=50/side=views 1 259000 wire-B/op 9000000 cpu-ns/op 70000000 resident-B
BenchmarkXDSCost/endpoints=10000/readers=50/side=bare 1 258000 wire-B/op 8000000 cpu-ns/op 90000000 resident-B
BenchmarkXDSReconnect/endpoints=1000/readers=1/side=views 1 0 resources 206 wire-B 1 resources-of-a-change
`

func TestThePageShowsXDSBesideTheBareServer(t *testing.T) {
	r, err := parse(pushed)
	if err != nil {
		t.Fatal(err)
	}
	text := page([]part{presentXDS(r)})
	for _, want := range []string{
		"| 1,000 | 50 | 12 ms | 12 ms | 12 ms | 10 ms | 10 ms | 10 ms | 1.20 |", "| 10,000 | 50 | 259,000 | 258,000 | 9 ms | 8 ms | 70 MB | 90 MB |",
		"| 1,000 | 0 | 206 | 1 |", "all of 50 proxies, 1,000 endpoints: p99 | at most 25 ms | 12 ms; the median is 1.20 times the bare server's | met |",
		"1 proxy, 10,000 endpoints: p99 | at most 60 ms | 30 ms", "Envoy Gateway, 30 to 120 s",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "%!") {
		t.Errorf("got nonsense in\n%s", text)
	}
}

func TestTheTargetsOfXDSCanBeMissed(t *testing.T) {
	worse := strings.NewReplacer("1 12000000 ns/op", "1 26000000 ns/op", "1 30000000 ns/op", "1 61000000 ns/op", "70000000 resident-B", "101000000 resident-B",
		"35000000 B", "71000000 B", "1 0 resources", "1 2 resources").Replace(pushed)
	for raw, want := range map[string]bool{pushed: true, worse: false} {
		r, err := parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		targets := xdsTargets(r)
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
