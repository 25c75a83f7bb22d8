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

func TestTheReportIsInTheOrderOfTheAreas(t *testing.T) {
	t.Parallel()
	report := preflight.NewReport([]preflight.Check{
		{Area: "probes", Subject: "3", Result: "ok"}, {Area: "source", Subject: "1", Result: "ok"},
		{Area: "source", Subject: "2", Result: "warn"}, {Area: "configuration", Subject: "0", Result: "ok"},
	})
	for i, c := range report.Checks {
		if c.Subject != string(rune('0'+i)) {
			t.Errorf("got %+v at place %d", c, i)
		}
	}
	if report.Summary != "0 failed, 1 warning, 3 ok, 0 skipped." || !report.OK {
		t.Errorf("got %q, %t", report.Summary, report.OK)
	}
}

func TestAHostileNodeNameIsInert(t *testing.T) {
	t.Parallel()
	report := preflight.NewReport([]preflight.Check{{
		Area: "nodes", Result: preflight.OK, Subject: "w1\x1b]0;owned\x07\x1b[2J", Message: "fine\nFAIL  forged\u202e",
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
		"skip rights-granted", "skip service-valid", "skip slices-ours", "ok probes-address")
	if report.Summary != "0 failed, 0 warnings, 5 ok, 4 skipped." {
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
	if report.Counts[preflight.Fail] != 1 {
		t.Errorf("got %d failures, want 1: %+v", report.Counts[preflight.Fail], report.Checks)
	}
}
