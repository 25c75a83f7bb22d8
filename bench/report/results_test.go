package main // a program has no tests from outside

import "testing"

func TestParseTakesTheLeastOfTheRuns(t *testing.T) {
	const raw = `goos: linux
BenchmarkPass/endpoints=10/change=none/impl=plan-2     100   30 ns/op   1.000 slices/op   8 B/op   4 allocs/op
BenchmarkPass/endpoints=10/change=none/impl=plan-2     100   10 ns/op   1.000 slices/op   8 B/op   4 allocs/op
BenchmarkPass/endpoints=10/change=none/impl=plan-2     100   20 ns/op   1.000 slices/op   8 B/op   4 allocs/op
BenchmarkPass/endpoints=10/change=none/impl=upstream   100   400 ns/op  0 slices/op       80 B/op  9 allocs/op
PASS
`
	results, err := parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if got := results[key{10, "none", "plan"}]; got["ns/op"] != 10 || got["slices/op"] != 1 || got["allocs/op"] != 4 {
		t.Errorf("got %v, want 10 ns, 1 slice and 4 allocations", got)
	}
	if got := results.ratio(10, "none", "ns/op"); got != 40 {
		t.Errorf("got ratio %v, want 40", got)
	}
}

func TestParseRefusesWhatHoldsNoBenchmark(t *testing.T) {
	if _, err := parse("PASS\n"); err == nil {
		t.Error("got no error for output without a benchmark")
	}
}
