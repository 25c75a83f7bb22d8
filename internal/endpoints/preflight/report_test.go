package preflight_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheSummaryCountsInPlainEnglish(t *testing.T) {
	t.Parallel()
	for results, want := range map[string]string{
		"ok":                     "The check passed.",
		"ok ok":                  "All 2 checks passed.",
		"ok ok warn":             "All 3 checks passed, 1 warning.",
		"ok ok warn warn skip":   "All 4 checks passed, 2 warnings, 1 skipped.",
		"fail":                   "1 of 1 check failed.",
		"fail fail ok skip skip": "2 of 3 checks failed, 2 skipped.",
	} {
		var checks []preflight.Check
		for result := range strings.FieldsSeq(results) {
			checks = append(checks, preflight.Check{ID: preflight.SourceRead, Section: preflight.Source, Result: preflight.Result(result)})
		}
		report := preflight.NewReport(checks)
		if report.Summary != want || report.OK == strings.Contains(results, "fail") {
			t.Errorf("%s: got %q, %t, want %q", results, report.Summary, report.OK, want)
		}
	}
}

func TestTheReportIsInTheOrderOfTheSections(t *testing.T) {
	t.Parallel()
	report := preflight.NewReport([]preflight.Check{
		{Section: preflight.Probes, Subject: "3", Result: "ok"}, {Section: preflight.Source, Subject: "1", Result: "ok"},
		{Section: preflight.Source, Subject: "2", Result: "ok"}, {Section: preflight.Configuration, Subject: "0", Result: "ok"},
	})
	for i, c := range report.Checks {
		if c.Subject != string(rune('0'+i)) {
			t.Errorf("got %+v at place %d", c, i)
		}
	}
	text := report.Text(false)
	if !strings.Contains(text, "Source\n  ok    1: \n  ok    2: \n\nHealth checks\n") {
		t.Errorf("got no sections in\n%s", text)
	}
}

func TestAHostileNodeNameIsInert(t *testing.T) {
	t.Parallel()
	report := preflight.NewReport([]preflight.Check{{
		Section: preflight.Nodes, Result: preflight.OK, Subject: "w1\x1b]0;owned\x07\x1b[2J", Message: "fine\nFAIL  forged\u202e",
	}})
	if text := report.Text(false); strings.ContainsAny(text, "\x1b\x07\u202e") || strings.Contains(text, "\nFAIL") {
		t.Errorf("got %q", text)
	}
}

// run looks at a world of one node, which Read answers.
func run(t *testing.T, read func(context.Context) ([]inventory.Node, error), secrets ...string) preflight.Report {
	t.Helper()
	c := loaded(t, "STORE_KIND=memory")
	return preflight.Run(t.Context(), world(t, c, read, passes, secrets...))
}

func TestContract35NoSecretIsInTheReportWhoeverRepeatsIt(t *testing.T) {
	t.Parallel()
	const secret = "c4n4ry-Tq9Zx7Lw2"
	report := run(t, func(context.Context) ([]inventory.Node, error) {
		return nil, errors.New("GET https://user:hunter2@10.0.0.1/x: the server says: " + secret + " " + strings.Repeat("x", 5000))
	}, secret, "\n"+secret+"\n", "x")
	text := report.Text(false)
	for _, bad := range []string{secret, "hunter2", strings.Repeat("x", 1000)} {
		if strings.Contains(text, bad) {
			t.Errorf("got %.20q in\n%s", bad, text)
		}
	}
	if !strings.Contains(text, "the server says: ******** xxx") || report.OK || !report.Failed(preflight.SourceRead) {
		t.Errorf("got no word of the failure in\n%s", text)
	}
}

func TestWithoutAClusterWhatIsInOneIsSkippedAndTheRestIsLookedAt(t *testing.T) {
	t.Parallel()
	report := run(t, func(context.Context) ([]inventory.Node, error) {
		return []inventory.Node{{Name: "w1", Ready: true, Worker: true, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.11")}}}, nil
	})
	want(t, report.Checks,
		"ok configuration-valid", "ok source-read", "ok nodes-usable", "ok nodes-node", "skip api-reachable",
		"skip rights-endpointslices", "skip service-present", "skip slices-ours", "ok probes-address")
	if report.Summary != "All 5 checks passed, 4 skipped." {
		t.Errorf("got %q", report.Summary)
	}
}

func TestEachCandidateIsProbedAndGetsItsOwnResult(t *testing.T) {
	t.Parallel()
	c := loaded(t, "STORE_KIND=memory", "HEALTH_CHECK_CONCURRENCY=2")
	dead := netip.MustParseAddr("10.0.0.12")
	report := preflight.Run(t.Context(), world(t, c, func(context.Context) ([]inventory.Node, error) {
		var nodes []inventory.Node
		for _, a := range []string{"10.0.0.11", "10.0.0.12", "10.0.0.13", "10.0.0.14"} {
			nodes = append(nodes, inventory.Node{Name: "w" + a, Ready: true, Worker: true, Addresses: []netip.Addr{netip.MustParseAddr(a)}})
		}
		return nodes, nil
	}, func(addr netip.Addr) inventory.Result {
		if addr == dead {
			return inventory.Result{Address: addr, Outcome: inventory.Refused, Reason: inventory.ProbeRefused, Message: "no"}
		}
		return passes(addr)
	}))
	for _, check := range report.Checks {
		if failed := check.Result == preflight.Fail; check.ID == preflight.ProbesAddress && failed != strings.HasSuffix(check.Subject, dead.String()) {
			t.Errorf("got %+v", check)
		}
	}
	if report.Counts.Fail != 1 {
		t.Errorf("got %d failures, want 1: %+v", report.Counts.Fail, report.Checks)
	}
}
