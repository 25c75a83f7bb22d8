package main // a program has no tests from outside

import (
	"testing"
)

func TestParseKeepsEveryRunAndTheMachine(t *testing.T) {
	const raw = `goos: linux
load-before: 0.10
BenchmarkPass/endpoints=10/change=none/impl=plan-2     100   30 ns/op   1.000 slices/op   8 B/op   4 allocs/op
BenchmarkPass/endpoints=10/change=none/impl=plan-2     100   10 ns/op   1.000 slices/op   8 B/op   4 allocs/op
BenchmarkPass/endpoints=10/change=none/impl=plan-2     100   20 ns/op   1.000 slices/op   8 B/op   4 allocs/op
BenchmarkPass/endpoints=10/change=none/impl=upstream   100   400 ns/op  0 slices/op       80 B/op  9 allocs/op
PASS
`
	r, err := parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	name := pass(10, "none", "plan")
	if least, median, most := r.least(name, "ns/op"), r.quantile(name, "ns/op", 0.5), r.most(name, "ns/op"); least != 10 || median != 20 || most != 30 {
		t.Errorf("got %v, %v and %v ns, want 10, 20 and 30", least, median, most)
	}
	if got := ratio(r, 10, "none", "ns/op"); got != 40 {
		t.Errorf("got ratio %v, want 40", got)
	}
	if r.says["load-before"] != "0.10" || r.has("Pass/endpoints=99") {
		t.Errorf("got %v", r.says)
	}
}

func TestParseRefusesWhatHoldsNoBenchmark(t *testing.T) {
	if _, err := parse("PASS\n"); err == nil {
		t.Error("got no error for output without a benchmark")
	}
}
