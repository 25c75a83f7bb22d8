package page_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// names are the nodes on a page, in order.
func names(page string) string {
	var all []string
	for _, match := range regexp.MustCompile(`<bdi class="name">(.*?)</bdi>`).FindAllStringSubmatch(page, -1) {
		all = append(all, match[1])
	}
	return strings.Join(all, " ")
}

// says fails the test for each text that is not on the page.
func says(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
}

func TestThePageSaysOfEachNodeWhatWhyAndSinceWhen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := w.page("").body
	says(t, page, "<title>! 1 of 2 nodes ready in default/web</title>", "<h1>1 of 2 nodes ready in default/web</h1>", "Degraded",
		"ProbeRefused", "at least HEALTH_CHECK_FALL=3 times in a row", `Refused <span class="streak">×4</span>`, `Pass <span class="streak">×7</span>`,
		"1.2ms", "90s ago", `<time datetime="2026-11-03T03:12:45Z" title="2026-11-03 03:12:45 UTC">`,
		"10.0.0.2 is inside", "connection refused", "v1.2.3", "60m ago", "in 18s", "web-remote", "NotWorker", "id-1", "de/fra",
		"All 3 entries, the worst first; the headline does not count the 1 that should not be published")
	if got, want := names(page), "w2 control w1"; got != want {
		t.Errorf("got the nodes %s, want the worst first: %s", got, want)
	}
}

// healthy is what the document says.
func (w *world) healthy() bool {
	w.t.Helper()
	var d report.Document
	if err := json.Unmarshal([]byte(w.ask(http.MethodGet, w.admin, "/api/v1/services/default/web").body), &d); err != nil {
		w.t.Fatal(err)
	}
	return d.Healthy
}

func TestPageAndDocumentAgreeOnWhatIsHealthy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, condition := range append(report.ServiceConditions()[1:], "stands still") {
		w.set(func() {
			w.doc, w.live = threeNodes(), nil
			if w.doc.Condition = condition; condition == "stands still" {
				w.doc.Condition, w.live = report.Healthy, errors.New("boom")
			}
			w.doc.Healthy = w.doc.Condition == report.Healthy
		})
		want := condition == report.Healthy
		if page := strings.Contains(w.page("").body, "✓</span> Healthy"); page != want || w.healthy() != want {
			t.Errorf("%s: the page is healthy: %v, the document: %v; want %v", condition, page, w.healthy(), want)
		}
	}
}

func TestTheTitleAndTheHeadlineTurnGoodOnlyWhenAllIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for condition, want := range map[report.Condition]string{
		report.Healthy: "✓</span> Healthy", report.Degraded: "!</span> Degraded", report.NothingReady: "✗</span> Nothing ready", report.Hold: "!</span> Hold",
		report.FailOpen: "✗</span> FailOpen", report.Starting: "!</span> Starting", report.Failing: "✗</span> In trouble",
	} {
		w.set(func() { w.doc = threeNodes(); w.doc.Condition = condition })
		if page := w.page("").body; !strings.Contains(page, want) {
			t.Errorf("%s: got no %q", condition, want)
		}
	}
	for holder, want := range map[string]string{"other": "…</span> Standing by", "": "!</span> Standing by"} {
		w.set(func() {
			w.doc = threeNodes()
			w.doc.Condition, w.doc.Leader, w.doc.Election = report.StandingBy, false, report.Election{Enabled: true, Holder: holder}
		})
		if page := w.page("").body; !strings.Contains(page, want) {
			t.Errorf("a standby of %q: got no %q", holder, want)
		}
	}
}

func TestEachTroubleHasABannerWithCauseMeaningAndRemedy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	since := threeNodes().At.Add(-5 * time.Minute)
	for name, test := range map[string]struct {
		change func(*report.Document)
		want   []string
	}{
		"hold": {func(d *report.Document) {
			d.Mode, d.Reason, d.Message, d.Since = "Hold", "TooManyRemovals", "4 of 5 endpoints would be taken away", since
		}, []string{"Holding: TooManyRemovals", "4 of 5 endpoints", "5m ago", "An endpoint that it leaves out stays while it passes its health check", "EMPTY_RESULT_THRESHOLD such inventories in a row is removed"}},
		"a removal is pending": {func(d *report.Document) {
			d.Mode, d.Reason, d.Removal = "Hold", "NoNodes", &report.Removal{Endpoints: 3, Inventories: 9, At: since.Add(9 * time.Minute)}
		}, []string{"3 kept endpoints will be removed, the first at " + since.Add(9*time.Minute).UTC().Format(time.TimeOnly) + " UTC, if 9 more scheduled inventories are rejected", "That is in 4m", "will still be removed", "whether these nodes are really gone", "inventory.md#ionosendpointsliceremovalpending"}},
		"only leaving endpoints pass": {func(d *report.Document) { d.Mode, d.Reason = "Hold", "NothingPasses" }, []string{"endpoints that leave do", "before the leaving nodes are switched off"}},
		"some are not checked":        {func(d *report.Document) { d.Stages.Unchecked = 2 }, []string{"Some endpoints are not checked", "health checks of 2 endpoints cannot be carried out", "health-checks.md#ionosendpointsliceendpointsunchecked"}},
		"contract 117: hold of a document's target": {func(d *report.Document) {
			d.Mode, d.Reason, d.Service.Spelling = "Hold", "TooManyRemovals", naming.Fields
			d.Pools = []report.PoolPart{{PoolUse: report.PoolUse{Name: "blue", State: report.Active}, HealthCheckBy: naming.Pool}}
		}, []string{"at EndpointPool blue spec.guard.emptyResultThreshold such inventories"}},
		"contract 117: a removal from the worse of two pools": {func(d *report.Document) {
			d.Mode, d.Reason, d.Removal, d.Service.Spelling, d.Pool = "Hold", "NoNodes", &report.Removal{Endpoints: 3, Inventories: 9}, naming.Annotations, "green"
			d.Pools = []report.PoolPart{{PoolUse: report.PoolUse{Name: "blue", State: report.Active}, HealthCheckBy: naming.Service}, {PoolUse: report.PoolUse{Name: "green", State: report.Active}, HealthCheckBy: naming.Pool}}
		}, []string{"With EndpointPool green spec.healthCheck.mode=None they are all", "EndpointPool green spec.guard.emptyResultThreshold=0 stops the removal"}},
		"contract 117: a removal with a check of the Service": {func(d *report.Document) {
			d.Mode, d.Reason, d.Removal, d.Service.Spelling = "Hold", "NoNodes", &report.Removal{Endpoints: 3, Inventories: 9}, naming.Annotations
			d.Pools = []report.PoolPart{{PoolUse: report.PoolUse{Name: "blue", State: report.Active}, HealthCheckBy: naming.Service}}
		}, []string{"With Service default/web endpoints.ablmnzde.github.io/health-check-mode=None they are all"}},
		"contract 117: refused slices of a binding": {func(d *report.Document) {
			d.Store.SlicesOfOthers, d.Service.Spelling = []string{"web.blue: helm has it"}, naming.Fields
		}, []string{"set EndpointBinding default/web spec.adopt to another name"}},
		"silence": {func(d *report.Document) { d.Mode, d.Reason = "Hold", "ProbesSilent" }, []string{"network of this daemon is the likely cause", "private network"}},
		"fail open": {func(d *report.Document) {
			d.Mode, d.Reason, d.Message, d.Since = "FailOpen", "NothingPasses", "no endpoint passes", since
		},
			[]string{"Failing open: NothingPasses", "no endpoint passes", "5m ago", "traffic may go to dead ones"}},
		"source": {func(d *report.Document) { d.Source.LastError = "exit status 3" }, []string{"exit status 3", "last read 12s ago", "next attempt is in 18s", "No node joins or leaves"}},
		"store": {func(d *report.Document) { d.Store.LastError, d.Store.PendingSlices = "connection refused", 1 },
			[]string{"connection refused", "1 slice waits to be written", "Traffic goes to the endpoints that were written last"}},
		"store that cannot be read": {func(d *report.Document) { d.Store.LastError, d.Store.LoadError = "forbidden", "forbidden" },
			[]string{"The slices cannot be read", "api-server.md#ionosendpointslicestoreunavailable"}},
		"problem":              {func(d *report.Document) { d.Problem = &report.Problem{Kind: "PortMismatch", Message: "no port http"} }, []string{"PortMismatch", "no port http"}},
		"refused":              {func(d *report.Document) { d.Store.SlicesOfOthers = []string{"web-remote: helm has it"} }, []string{"helm has it", "TARGET_ENDPOINTSLICE_NAME"}},
		"beside":               {func(d *report.Document) { d.Store.SlicesBeside = []string{"web-1: mirrored"} }, []string{"web-1: mirrored", "Others publish"}},
		"warnings":             {func(d *report.Document) { d.Source.Warnings = []string{"DHCP is on"} }, []string{"DHCP is on"}},
		"dry run":              {func(d *report.Document) { d.DryRun, d.Store.PendingSlices = true, 2 }, []string{"Dry run", "2 slices would be written", "Remove DRY_RUN, or --dry-run, to write."}},
		"dry run of a binding": {func(d *report.Document) { d.DryRun, d.DecidedBy = true, []report.DecidedBy{{Kind: "EndpointBinding"}} }, []string{"Dry run", "spec.mode: DryRun of the EndpointBinding"}},
		"standby": {func(d *report.Document) {
			d.Leader, d.Election = false, report.Election{Enabled: true, Holder: "pod-b", Since: since}
		},
			[]string{"pod-b leads.", "5m ago"}},
	} {
		w.set(func() { w.doc = threeNodes(); test.change(&w.doc) })
		page := w.page("").body
		for _, want := range test.want {
			if !strings.Contains(page, want) {
				t.Errorf("%s: got no %q", name, want)
			}
		}
		for _, runbook := range regexp.MustCompile(`>(docs/runbooks/[\w-]+\.md)#(\w+)<`).FindAllStringSubmatch(page, -1) {
			text, err := os.ReadFile(filepath.Join("..", "..", "..", runbook[1]))
			if err != nil || !strings.Contains(strings.ToLower(string(text)), "\n## "+runbook[2]+"\n") {
				t.Errorf("%s: %s has no heading %s, %v", name, runbook[1], runbook[2], err)
			}
			if !strings.Contains(page, `<a class="address" href="https://github.com/ablmnzde/ionoscloud-endpointslice-controller/blob/main/`+runbook[1]+"#"+runbook[2]+`"`) {
				t.Errorf("%s: %s is no link", name, runbook[1])
			}
		}
	}
	w.set(func() { w.doc = threeNodes() })
	if page := w.page("").body; strings.Contains(page, `class="banner`) {
		t.Error("got a banner although nothing is wrong but a node")
	}
}

func TestTheFilterShowsTheNodesThatAreAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for query, want := range map[string]string{
		"": "w2 control w1", "?q=": "w2 control w1", "?state=": "w2 control w1", "?refresh=": "w2 control w1", "?utm=x": "w2 control w1",
		"?state=ready": "w1", "?state=down": "w2", "?state=absent": "control", "?state=notready": "w2 control", "?state=draining": "",
		"?q=10.0.0.2": "w2", "?q=W1": "w1", "?q=id-1": "w1", "?q=DE/fra": "w1", "?q=notworker": "control", "?q=Refused+10.0": "w2", "?q=w1+w2": "",
		"?q=w&state=ready": "w1", "?q=%3Cscript%3E": "", "?q=" + strings.Repeat("x", 256): "",
	} {
		got := w.page(query)
		if got.code != http.StatusOK || names(got.body) != want {
			t.Errorf("%s: got %d and %q, want 200 and %q", query, got.code, names(got.body), want)
		}
		if want == "" {
			says(t, got.body, "No node matches.")
		}
	}
	says(t, w.page("?q=w&state=down").body, `href="/?q=w&amp;state=ready"`, `<input type="hidden" name="state" value="down">`, `value="w"`, "1 of 3 entries")
	says(t, w.page("?state=down").body, "<details open>")
	if strings.Contains(w.page("").body, "<details open>") {
		t.Error("the trails of all nodes are unfolded")
	}
}

func TestParametersThatMakeNoSenseAreRefusedWithWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for query, want := range map[string]string{
		"?state=up": `state="up" is not known; write one of notready, down, absent, draining, ready`, "?state=%3Cb%3E": "is not known",
		"?refresh=1": "from 2 to 3600", "?refresh=3601": "from 2 to 3600", "?refresh=-5": "from 2 to 3600", "?refresh=5s": "from 2 to 3600", "?refresh=5;url=http://evil": "from 2 to 3600",
		"?q=" + strings.Repeat("x", 257): "longer than 256 bytes", "?q=%ff": "not UTF-8", "?state=ready&state=down": "given 2 times", "?q=a&q=b": "given 2 times",
	} {
		got := w.page(query)
		if strings.Contains(query, ";") { // net/url leaves out what has a semicolon
			if refresh := got.header.Get("Refresh"); refresh != "" {
				t.Errorf("%s: got Refresh %q, want none", query, refresh)
			}
			continue
		}
		if got.code != http.StatusBadRequest || !strings.Contains(got.body, want) || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: got %d %q as %s, want 400 and %q as text", query, got.code, got.body, got.header.Get("Content-Type"), want)
		}
	}
}

func TestThePageLoadsItselfAgainOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for query, want := range map[string]string{"": "", "?refresh=2": "2", "?refresh=3600": "3600", "?q=w&refresh=7": "7"} {
		if got := w.page(query).header.Get("Refresh"); got != want {
			t.Errorf("%s: got Refresh %q, want %q", query, got, want)
		}
	}
	says(t, w.page("?refresh=7").body, `<option value="7" selected>every 7 s</option>`, `<option value="5">every 5 s</option>`, `href="/?refresh=7&amp;state=down"`, "reloads every 7 s")
}

func TestContract185TheHistorySaysWhatWasRejectedAndHowModeAndStatesChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(func() {
		var states []explain.StateChange
		for i := range 9 {
			states = append(states, explain.StateChange{Address: fmt.Sprint("10.0.1.", i), From: "ready", To: "down", Reason: "ProbeRefused"})
		}
		w.doc.Cycles = []report.Cycle{
			{Inventory: &explain.Inventory{Nodes: 3}, Repeats: 6},
			{Inventory: &explain.Inventory{Rejected: "NoNodes"}, Mode: &explain.ModeChange{From: "Publish", To: "Hold", Reason: "NoNodes", Message: "the source lists no node"}},
			{States: states, MoreStates: 2},
		}
	})
	says(t, w.page("").body, "inventory of 3 nodes", "and 6 like it before", "inventory of 0 nodes rejected: NoNodes", "mode Publish → Hold (NoNodes): the source lists no node", "decided", "10.0.1.5: ready → down (ProbeRefused)", "and 5 more")
}

func TestHostileNamesAreTextAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nasty := []string{`<script>x()</script>`, `"><img src=x onerror=x()>`, `'--></style><svg onload=x()>`, "a\u202eb", "nul\x00\u200bl", "line\nbreak", `{{.}}`, `</textarea>&lt;`}
	w.set(func() {
		for i, n := range nasty {
			w.doc.Nodes = append(w.doc.Nodes, report.Node{Name: n, ID: n, Zone: n, State: "down", Reason: "ProbeTLS", Message: n, Address: fmt.Sprint("10.0.1.", i),
				HealthCheck: &report.HealthCheck{Outcome: "LocalError", Message: n}, Decisions: []report.Decision{{Stage: "source", Reason: "ProbeTLS", Message: n}}})
		}
		w.doc.Summary, w.doc.Mode, w.doc.Reason, w.doc.Message = nasty[0], "Hold", nasty[1], nasty[3]
		w.doc.Source.LastError, w.doc.Source.Warnings, w.doc.Store.SlicesOfOthers = nasty[1], nasty, nasty
		w.doc.Service.Slices, w.doc.Program.Version = nasty, nasty[0]
		w.doc.Cycles = []report.Cycle{{Error: nasty[0]}, {Mode: &explain.ModeChange{From: "Hold", To: "Publish", Reason: nasty[1], Message: nasty[3]}, States: []explain.StateChange{{Address: nasty[0], Reason: nasty[7]}}}}
	})
	page := w.page("?q=%22%3E%3Cscript%3E").body + w.page("").body
	for _, never := range []string{"<script", "<img", "<svg", "</style", "\u202e", "\x00", "\u200b", " onerror=x()>\n", "</textarea"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	says(t, page, "&lt;script&gt;x()&lt;/script&gt;", `a\u202eb`, `nul\x00\u200bl`, `line\nbreak`)
	if json := w.ask(http.MethodGet, w.admin, "/api/v1/services/default/web").body; strings.Contains(json, "<script") {
		t.Error("the JSON has a script that a careless reader could run")
	}
}

func TestTheTableIsBoundedAndSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(func() {
		w.doc.Nodes = nil
		for i := range 5000 {
			n := report.Node{Name: fmt.Sprintf("n%04d", i), State: "ready", Reason: "Ready"}
			switch i {
			case 4000:
				n.State, n.Reason = "draining", "Draining"
			case 4500:
				n.State, n.Reason = "down", "ProbeTimeout"
			case 4700:
				n.Reason = "ReadyHeld"
			case 4900:
				n.State, n.Reason = "absent", "NotWorker"
			}
			w.doc.Nodes = append(w.doc.Nodes, n)
		}
	})
	page := w.page("").body
	says(t, page, "All 5000 entries", "The first 500 are shown, 4500 are not", `<a href="/api/v1/services/default/web">`)
	shown := strings.Fields(names(page))
	if len(shown) != 500 || strings.Join(shown[:5], " ") != "n4500 n4700 n4000 n4900 n0000" {
		t.Errorf("got %d nodes, first %v, want 500 and the worst first", len(shown), shown[:min(5, len(shown))])
	}
	if got := w.page("?q=n49").body; strings.Contains(got, "left out") || len(strings.Fields(names(got))) != 100 {
		t.Errorf("narrowed down: got %d nodes, want 100 and none left out", len(strings.Fields(names(got))))
	}
}
