package traffic_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

func TestFiguresCountByTheStartOfEachRequest(t *testing.T) {
	var r traffic.Record
	for _, result := range []traffic.Result{
		{Start: at(1000)}, {Start: at(1099)}, {Start: at(1100), Failure: "refused"}, {Start: at(1350)},
	} {
		r.Add(result)
	}
	got := r.Figures("name", "text", traffic.Fact{Name: "writes", Value: "2"})
	if got.Requests != 4 || got.Lost != 1 || !got.Began.Equal(at(1000)) {
		t.Errorf("got %d requests, %d lost from %v, want 4, 1 from %v", got.Requests, got.Lost, got.Began, at(1000))
	}
	want := []traffic.Bucket{{OK: 2}, {Lost: 1}, {}, {OK: 1}}
	if diff := cmp.Diff(want, got.Buckets); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
}

func TestALongScenarioHasWiderColumns(t *testing.T) {
	var r traffic.Record
	r.Add(traffic.Result{Start: at(0)})
	r.Add(traffic.Result{Start: at(3600_000)})
	got := r.Figures("soak", "")
	if len(got.Buckets) > 1500 || got.Buckets[0].OK+got.Buckets[len(got.Buckets)-1].OK != 2 {
		t.Errorf("an hour: got %d columns of %v with %v and %v", len(got.Buckets), got.Width, got.Buckets[0], got.Buckets[len(got.Buckets)-1])
	}
}

func TestAPictureIsWellFormedWhateverItShows(t *testing.T) {
	event := traffic.Event{At: 0.05, Text: `a <b> & "c"`}
	for _, f := range []traffic.Figures{
		{Scenario: "nothing <at> all"},
		{Scenario: "much", Buckets: []traffic.Bucket{{OK: 1}, {OK: 1}, {Lost: 3}, {OK: 1, Lost: 2}}, Events: []traffic.Event{event, event, event, event, event, {At: -5}, {At: 50}},
			Series: []traffic.Series{{Name: "none"}, {Name: "a<b", Unit: "MiB", Values: []float64{1, 3, 2}}, {Values: []float64{0}}}},
	} {
		picture := f.Picture()
		decoder := xml.NewDecoder(strings.NewReader(picture))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", f.Scenario, err, picture)
			}
		}
	}
}
