package traffic_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// at is a time in milliseconds.
func at(ms int) time.Time { return time.UnixMilli(int64(ms)) }

func TestTheLastLostRequestCountsFromItsStart(t *testing.T) {
	var r traffic.Record
	for _, result := range []traffic.Result{
		{Start: at(1900), Took: time.Second, Failure: "time-out"},
		{Start: at(100), Failure: "refused"}, // before the fault
		{Start: at(1200), Failure: "refused"},
		{Start: at(2500), Backend: "a"},
	} {
		r.Add(result)
	}
	after, count := r.LastLost(at(1000))
	if after != 900*time.Millisecond || count != 2 {
		t.Errorf("got %v, %d lost, want 900ms, 2", after, count)
	}
	if after, count := r.LastLost(at(3000)); after != 0 || count != 0 {
		t.Errorf("after all: got %v, %d lost, want nothing", after, count)
	}
	if got := len(r.Lost()); got != 3 {
		t.Errorf("got %d lost, want 3", got)
	}
}

func TestRecordsAreMerged(t *testing.T) {
	var a, b traffic.Record
	a.Add(traffic.Result{Start: at(300), Backend: "a"})
	b.Add(traffic.Result{Start: at(100), Failure: "refused"})
	first := a.Mark("crash")
	b.Mark("crash")
	last := b.Mark("back")
	merged := traffic.Merged(&a, &b)
	if results := merged.Results(); len(results) != 2 || !results[0].Lost() || results[1].Backend != "a" {
		t.Errorf("got %v", results)
	}
	if diff := cmp.Diff([]traffic.Mark{{At: first, Text: "crash"}, {At: last, Text: "back"}}, merged.Marks()); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	if a.Len() != 1 || len(b.Marks()) != 2 {
		t.Error("a record changed")
	}
}

func TestAnswersAreKnownByBackend(t *testing.T) {
	var r traffic.Record
	for _, result := range []traffic.Result{
		{Start: at(200), Backend: "a"}, {Start: at(100), Backend: "a"}, {Start: at(300), Backend: "b"},
		{Start: at(400), Backend: "b", Failure: "status 503"},
	} {
		r.Add(result)
	}
	for _, test := range []struct {
		backend string
		since   time.Time
		want    bool
	}{
		{"a", at(200), true}, {"a", at(201), false}, {"b", at(300), true}, {"b", at(301), false}, {"c", time.Time{}, false},
	} {
		for name, record := range map[string]*traffic.Record{"itself": &r, "merged": traffic.Merged(&r)} {
			if got := record.Answered(test.backend, test.since); got != test.want {
				t.Errorf("%s: %s answered since %v: got %t, want %t", name, test.backend, test.since, got, test.want)
			}
		}
	}
}

func TestLatenciesAreOfATimeAndOfLostRequestsToo(t *testing.T) {
	var r traffic.Record
	for _, result := range []traffic.Result{
		{Start: at(99), Took: 1},
		{Start: at(200), Took: time.Second, Failure: "time-out"},
		{Start: at(100), Took: 2},
		{Start: at(201), Took: 3},
	} {
		r.Add(result)
	}
	if diff := cmp.Diff([]time.Duration{2, time.Second}, r.Latencies(at(100), at(200))); diff != "" {
		t.Errorf("latencies (-want +got):\n%s", diff)
	}
}

func TestWhatIsAnsweredLateIsNotLost(t *testing.T) {
	var r traffic.Record
	for _, result := range []traffic.Result{
		{Start: at(0), Took: traffic.Timeout}, {Start: at(1), Took: 2 * time.Second}, {Start: at(2), Took: 3 * time.Second},
		{Start: at(3), Took: 10 * time.Second, Failure: "time-out"},
	} {
		r.Add(result)
	}
	if count, slowest := r.Delayed(); count != 2 || slowest != 3*time.Second || len(r.Lost()) != 1 {
		t.Errorf("got %d delayed, %v at the most, and %d lost, want 2, 3s and 1", count, slowest, len(r.Lost()))
	}
}

func TestPercentilesAreValuesThatWereMeasured(t *testing.T) {
	var values []time.Duration
	for i := 20; i > 0; i-- {
		values = append(values, time.Duration(i))
	}
	for percent, want := range map[int]time.Duration{50: 10, 95: 19, 96: 20, 100: 20, 1: 1} {
		if got := traffic.Percentile(values, percent); got != want {
			t.Errorf("p%d: got %d, want %d", percent, got, want)
		}
	}
	if got := traffic.Percentile(nil, 95); got != 0 {
		t.Errorf("of nothing: got %v, want 0", got)
	}
}

func TestALineHoldsTheWholeResult(t *testing.T) {
	for _, want := range []traffic.Result{
		{Start: time.Unix(0, 1234567890123456789), Late: time.Millisecond, Took: time.Second, Backend: "worker-1"},
		{Start: time.Unix(5, 0), Method: "POST", Source: netip.MustParseAddrPort("10.77.128.1:11001")},
		{Start: time.Unix(5, 0), Failure: "an \"odd\" failure\nof two lines"},
		{Start: time.Unix(5, 0), Backend: "w", Failure: "w"},
	} {
		got, err := traffic.ParseLine(want.Line())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
	}
	for _, bad := range []string{"", "1 2 3", `a 2 3 "" "" "" ""`, `1 2 3 "`, `1 2 3 "" "" "" x`, `1 2 3 "" "" "" "" x`, `1 2 3 "" "x" "" ""`} {
		if got, err := traffic.ParseLine(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func TestOnlyTimeOutsWhileTheMachineStoodStillAreExcused(t *testing.T) {
	got := traffic.Excused([]traffic.Result{
		{Start: at(0), Failure: "time-out"}, // long before
		{Start: at(2500), Failure: "time-out"},
		{Start: at(2600), Failure: "refused"},
		{Start: at(3000), Late: 300 * time.Millisecond},
		{Start: at(5000), Failure: "time-out"}, // long after
		{Start: at(9000), Late: 200 * time.Millisecond, Failure: "time-out"},
	})
	if diff := cmp.Diff(map[time.Time]bool{at(2500): true}, got); diff != "" {
		t.Errorf("excused (-want +got):\n%s", diff)
	}
}
