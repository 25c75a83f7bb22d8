package controller_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// Contract 77: the log says once when the slices of all Services are as decided, and
// never before that is so.
func TestContract77TheLogSaysWhenAllSlicesAreAsDecided(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	said := func() string {
		defer log.Reset()
		_, rest, _ := strings.Cut(log.String(), "as decided")
		services, _, _ := strings.Cut(strings.TrimPrefix(rest, `" services=`), " ")
		return services
	}
	s := controller.NewSettlement(slog.New(slog.NewTextHandler(&log, nil)))
	one, two, three := assign.Key{Namespace: "shop", Service: "one"}, assign.Key{Namespace: "shop", Service: "two"}, assign.Key{Namespace: "shop", Service: "three"}
	s.Expect(one, "blue")
	s.Expect(two, "blue", "green")
	for i, step := range []struct {
		key     assign.Key
		outcome writer.Outcome
		dryRun  bool
		want    string
	}{
		{key: one, outcome: writer.Outcome{SliceName: "blue", Passed: true}},                 // not checked yet
		{key: one, outcome: writer.Outcome{SliceName: "blue", Checked: true, Pending: 1}},    // not written yet
		{key: one, outcome: writer.Outcome{SliceName: "blue", Checked: true}},                // written
		{key: one, outcome: writer.Outcome{SliceName: "blue", Checked: true, Pending: 1}},    // that is later news
		{key: two, outcome: writer.Outcome{SliceName: "green", Checked: true}},               // one of two pools
		{key: three, outcome: writer.Outcome{SliceName: "blue", Checked: true}},              // waited for by no one
		{key: two, outcome: writer.Outcome{SliceName: "blue", Checked: true}, want: "2"},     // all
		{key: two, outcome: writer.Outcome{SliceName: "blue", Checked: true, Pending: 1}},    // a change
		{key: two, outcome: writer.Outcome{SliceName: "blue", Checked: true}},                // and its write
		{key: one, outcome: writer.Outcome{SliceName: "green", Checked: true}, dryRun: true}, // no pool of that Service
	} {
		s.Take(step.key, step.dryRun, step.outcome)
		if got := said(); got != step.want {
			t.Errorf("step %d: got %q, want %q", i, got, step.want)
		}
	}

	s.Expect(three, "blue")
	s.Take(three, true, writer.Outcome{SliceName: "blue", Checked: true, Pending: 1})
	if got := said(); got != "3" {
		t.Errorf("a dry run: got %q, want 3", got)
	}
	s.Expect(three, "green")
	s.Forget(three)
	if got := said(); got != "2" {
		t.Errorf("the last one went: got %q, want 2", got)
	}
	s.Forget(one)
	s.Forget(two)
	if got := said(); got != "" {
		t.Errorf("nothing is left: got %q", got)
	}
}
