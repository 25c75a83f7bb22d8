package main // a program has no tests from outside

import (
	"strings"
	"testing"
)

// measured is what a run of endtoend could print. It meets every target except the
// one of the heartbeat.
const measured = `load-before: 0.10
cores: 2
BenchmarkStart/nodes=3/side=daemon/check=tcp 1 40000000 ns/op
BenchmarkChange/nodes=1000/side=daemon 1 11000000 ns/op 6000000 answered-ns/op
BenchmarkChange/nodes=1000/side=daemon 1 12000000 ns/op 6000000 answered-ns/op
BenchmarkChange/nodes=1000/side=daemon 1 90000000 ns/op 6000000 answered-ns/op
BenchmarkChange/nodes=1000/side=bare 1 10000000 ns/op 6000000 answered-ns/op
BenchmarkChangeCost/nodes=1000/side=daemon 50 2e+06 cpu-ns/op 1 writes/op 1 events/op 0 local-reads/op 0 remote-requests/op 2 decisions/op
BenchmarkHeartbeat/nodes=1000/side=daemon 100 400000 cpu-ns/op 410000 gross-cpu-ns/op 0 writes 0 requests 1 decisions 6.2 s
BenchmarkSteady/nodes=1000/side=daemon 1 15 s 0.1 cores 500 checks/s 0 slice-events 0 writes 0 events 0 reads 0 watches 8 lease-requests 40000000 first-resident-B 41000000 resident-B 45000000 peak-B
BenchmarkSteady/nodes=10000/side=daemon 1 15 s 0.8 cores 5000 checks/s 0 slice-events 0 writes 0 events 0 reads 0 watches 8 lease-requests 90000000 first-resident-B 95000000 resident-B 110000000 peak-B
`

func presented(t *testing.T, raw string) part {
	t.Helper()
	r, err := parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return presentEndToEnd(r)
}

func TestEachTargetIsSaidToBeMetOrMissed(t *testing.T) {
	for _, target := range presented(t, measured).targets {
		if want := !strings.Contains(target.question, "heartbeat, 1,000 nodes: CPU"); target.met != want {
			t.Errorf("%s: got met %t, want %t (%s)", target.question, target.met, want, target.found)
		}
	}
	worse := strings.NewReplacer("1 decisions", "100 decisions", "12000000 ns/op", "13000000 ns/op", "1 writes/op", "2 writes/op", "15 s 0.1 cores 500 checks/s 0 slice-events 0 writes", "15 s 0.1 cores 500 checks/s 1 slice-events 1 writes",
		"41000000 resident-B", "51000000 resident-B", "95000000 resident-B", "121000000 resident-B", "40000000 ns/op", "400000000 ns/op").Replace(measured)
	for _, target := range presented(t, worse).targets {
		if target.met {
			t.Errorf("%s: got %s, met; want it missed", target.question, target.found)
		}
	}
}

func TestThePageShowsWhatWasMeasured(t *testing.T) {
	text := page([]part{presented(t, measured)})
	for _, want := range []string{
		"| change to slice, 1,000 nodes: median | at most 1.2 times the bare watcher's | 1.20 times (12 ms, 10 ms)",
		"| 1,000 | daemon | 12 ms | 90 ms | 90 ms | 6 ms | 2 ms | 1 | 0 | 1 | 2 |",
		"**missed**",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "%!") {
		t.Errorf("got nonsense in\n%s", text)
	}
}
