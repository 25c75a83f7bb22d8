package cli_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

func TestTheReferenceOfExitStatusesIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "check.md")
	want := cli.ExitReference()
	golden.CheckPart(t, path, "## Exit status", "", want, "go generate ./internal/endpoints/cli")
}

func TestEveryOutcomeIsExplainedOnceAndSortedByStatus(t *testing.T) {
	seen := map[cli.Outcome]bool{}
	for _, doc := range cli.Outcomes() {
		if seen[doc.Outcome] {
			t.Errorf("%s is listed twice", doc.Outcome)
		}
		seen[doc.Outcome] = true
		for _, text := range []string{doc.Cause, doc.Effect, doc.Remedy} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: got %q, want a sentence", doc.Outcome, text)
			}
		}
	}
	if !slices.IsSortedFunc(cli.Outcomes(), func(a, b cli.OutcomeDoc) int { return a.Status - b.Status }) {
		t.Error("the outcomes are not sorted by exit status")
	}
}

// world is what was seen of the only pool, and what it gives the Service.
type world struct {
	controller.Assessment
	controller.AssessedFill
}

// judge judges the fill.
func (w *world) judge() (cli.Outcome, string) { return cli.Judge(&w.Assessment, &w.AssessedFill) }

// silentWorld is one in which two of two endpoints do not answer, or what else the verdict says.
func silentWorld(v guard.Verdict) *world {
	addr := netip.MustParseAddr("10.0.0.1")
	state := &controller.GroupState{Findings: func() []explain.Finding { return nil }}
	state.Decided, state.Verdict = true, &v
	return &world{
		controller.Assessment{Snapshot: controller.Snapshot{Groups: []controller.Group{{State: state}}}},
		controller.AssessedFill{Desired: []publish.Slice{{Name: "web-remote", Endpoints: []inventory.Member{{Address: addr, State: inventory.StateReady}}}}},
	}
}

func TestEndpointsThatDoNotAnswerAreNoRejectedInventory(t *testing.T) {
	outcome, message := silentWorld(guard.Verdict{Mode: guard.Hold, Cause: guard.ProbesSilent, Message: "2 of 2 present endpoints are silent at once"}).judge()
	if outcome != cli.ChecksSilent || strings.Contains(message, "nventory") || !strings.Contains(message, "2 of 2") || !strings.Contains(message, "network") {
		t.Errorf("got %s and %q, want %s and the network as what to check", outcome, message, cli.ChecksSilent)
	}
}

func TestThatOnlyLeavingEndpointsPassIsNoRejectedInventory(t *testing.T) {
	outcome, message := silentWorld(guard.Verdict{Mode: guard.Hold, Cause: guard.NothingPasses, Message: "no endpoint of the inventory passes"}).judge()
	if outcome != cli.OnlyLeavingPass || strings.Contains(message, "ejected") || !strings.Contains(message, "no endpoint of the inventory passes. ") {
		t.Errorf("got %s and %q, want %s and what was seen", outcome, message, cli.OnlyLeavingPass)
	}
}

func TestWhatStandsInTheWayCountsMoreThanTheMode(t *testing.T) {
	for _, mode := range []guard.Mode{guard.Publish, guard.Hold, guard.FailOpen} {
		w := silentWorld(guard.Verdict{Mode: mode})
		w.Problem = publish.Problem{Kind: publish.ServiceHasSelector, Message: "Service default/web has a selector; remove spec.selector"}
		if outcome, message := w.judge(); outcome != cli.ServiceProblem || !strings.Contains(message, "remove spec.selector") {
			t.Errorf("%s: got %s and %q, want %s", mode, outcome, message, cli.ServiceProblem)
		}
	}
}

func TestAnErrorHasTheOutcomeOfItsCause(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	source, store := &controller.SourceError{Err: errors.New("x")}, &controller.StoreError{Err: errors.New("x")}
	for name, c := range map[string]struct {
		err  error
		want cli.Outcome
	}{
		"source":             {source, cli.SourceFailed},
		"store":              {store, cli.StoreFailed},
		"conflict":           {&controller.StoreError{Err: fmt.Errorf("update: %w", publish.ErrConflict)}, cli.Conflict},
		"lost while writing": {&controller.StoreError{Err: fmt.Errorf("nothing is written: %w", lease.ErrLost)}, cli.LeaseNotHeld},
		"handed over":        {fmt.Errorf("lease default/x: %w to two", lease.ErrHandedOver), cli.LeaseNotHeld},
		"never elected":      {cli.Ended(stopped, fmt.Errorf("%w: %w", lease.ErrNotElected, context.Canceled)), cli.LeaseNotHeld},
		"a signal":           {cli.Ended(stopped, &controller.SourceError{Err: context.Canceled}), cli.Stopped},
		"without a signal":   {cli.Ended(t.Context(), source), cli.SourceFailed},
		"command line":       {errors.New("unknown flag"), cli.Misused},
	} {
		if got := cli.OutcomeOf(c.err); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestARunThatIsToldToStopReportsNoFailure(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, errs buffer
	code := cli.Program{Environ: base, Stdout: &out, Stderr: &errs}.Run(ctx, []string{"run", "--once"})
	if said := errs.String(); code != 1 || !strings.Contains(said, `"outcome":"Stopped"`) || !strings.Contains(said, "stopped by a signal before it was done") {
		t.Errorf("got exit status %d, want 1 and that a signal stopped it:\n%s", code, said)
	}
}
