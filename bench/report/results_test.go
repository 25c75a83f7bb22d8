package main // a program has no tests from outside

import (
	"math"
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

func TestTheExponentIsThatOfThePower(t *testing.T) {
	for _, want := range []float64{0, 0.5, 1, 2} {
		c := curve{}
		for _, n := range []float64{3, 100, 1_000, 5_000} {
			c.points = append(c.points, point{n, 7 * math.Pow(n, want)})
		}
		if got := c.exponent(); math.Abs(got-want) > 1e-9 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
