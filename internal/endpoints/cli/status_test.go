package cli_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// document is what a daemon of the base configuration may say.
func document(change func(*report.Document)) *report.Document {
	now := time.Now().UTC().Truncate(time.Millisecond)
	d := &report.Document{
		Headline:  report.Headline{Head: report.Head{APIVersion: "v1", At: now, Decided: true, Leader: true}, Summary: "2 of 2 nodes ready in default/web", Healthy: true},
		PoolState: report.PoolState{ModeState: report.ModeState{Mode: "Publish"}, Source: report.SourceState{Kind: "static", LastSuccess: now.Add(-5 * time.Second)}, Stages: report.Stages{Nodes: 2}},
		Service:   report.Service{Namespace: "default", Name: "web", Slices: []string{"web-remote"}}, Store: report.Store{Kind: "memory"},
		Nodes: []report.Node{
			node("a-worker", "10.0.0.11", "ready", "Ready", now.Add(-time.Hour)),
			node("b-worker", "10.0.0.12", "ready", "Ready", now.Add(-time.Hour)),
			node("gone", "10.0.0.13", "absent", "Gone", now.Add(-time.Minute)),
		},
		Cycles: []report.Cycle{},
	}
	change(d)
	return d
}

func node(name, address, state, reason string, since time.Time) report.Node {
	return report.Node{
		Name: name, Address: address, State: state, Reason: reason, Message: "it is " + reason, Since: since,
		HealthCheck: &report.HealthCheck{Outcome: "Pass", LatencySeconds: 0.0012, Streak: 7, At: since.Add(time.Second)},
		Decisions:   []report.Decision{{Stage: "filter", Message: "it is inside"}, {Stage: "guard", Reason: reason, Message: "it is " + reason}},
	}
}

func unchanged(*report.Document) {}

func unhealthy(d *report.Document) {
	d.Healthy, d.Mode, d.Reason, d.Message, d.Since = false, "Hold", "NoNodes", "the source lists no node", d.At.Add(-time.Minute)
	d.Summary = "Holding: 1 of 2 nodes ready in default/web"
	d.Nodes[1] = node("b-worker", "10.0.0.12", "down", "ProbeRefused", d.At)
}

func standby(holder string) func(*report.Document) {
	return func(d *report.Document) {
		d.Healthy, d.Leader, d.Nodes = false, false, nil
		d.Election = report.Election{Enabled: true, Holder: holder}
		d.Summary = "standing by for default/web; " + holder + " leads"
		if holder != "" {
			d.ByItself("", errors.New("nothing listens there"))
		}
	}
}

// daemon answers with a document, at the path and with the method that there are.
func daemon(t *testing.T, change func(*report.Document)) (environ []string) {
	t.Helper()
	return answering(t, func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(document(change)); err != nil {
			t.Error(err)
		}
	})
}

// answering serves on a port of its own and returns the base configuration with
// its address.
func answering(t *testing.T, handler http.HandlerFunc) (environ []string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/services/default/web", handler)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return append([]string{"ADMIN_ADDRESS=" + server.Listener.Addr().String()}, base...)
}

func TestStatusShowsWhatTheDaemonSays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*report.Document)
		args   []string
		code   int
		says   []string
	}{
		"healthy":   {unchanged, nil, 0, []string{"2 of 2 nodes ready in default/web\n", "static, 2 nodes read 5s ago", "slices web-remote", "a-worker  10.0.0.11  ready", "gone"}},
		"unhealthy": {unhealthy, nil, 1, []string{"Holding: 1 of 2", "HOLD for 60s: NoNodes: the source lists no node", "ProbeRefused"}},
		"a removal is pending": {func(d *report.Document) {
			unhealthy(d)
			d.Removal = &report.Removal{Endpoints: 3, Inventories: 9}
		}, nil, 1, []string{"PENDING: 3 kept endpoints will be removed, the first when 9 more scheduled inventories are rejected"}},
		"unchecked": {func(d *report.Document) { d.Stages.Unchecked = 2 }, nil, 0, []string{"NOT CHECKED: the health checks of 2 endpoints cannot be carried out"}},
		"wide":      {unchanged, []string{"-o", "wide"}, 0, []string{"ID", "ZONE", "SINCE", "PROBE", "Pass x7 1.2ms", "60m"}},
		"a problem": {func(d *report.Document) {
			d.Healthy, d.Problem = false, &report.Problem{Kind: "ServiceMissing", Message: "create it"}
		}, nil, 1, []string{"ServiceMissing: create it"}},
		"others' slices": {func(d *report.Document) {
			d.Store.SlicesOfOthers, d.Store.SlicesBeside = []string{"a: is b's"}, []string{"c: is d's"}
		}, nil, 0, []string{"Slice of another program: a: is b's", "Other slice of the Service: c: is d's"}},
		"a dry run":                    {func(d *report.Document) { d.DryRun, d.Store.PendingSlices = true, 2 }, nil, 0, []string{"Dry run", "2 slices not written yet"}},
		"a standby without its leader": {standby("pod-1"), nil, 1, []string{"standing by for default/web; pod-1 leads, but", "The status of the leader cannot be read: nothing listens there"}},
		"a standby": {func(d *report.Document) {
			d.HandedOnBy, d.Election = "pod-2", report.Election{Enabled: true, Holder: "pod-1"}
		}, nil, 0, []string{"2 of 2 nodes ready", "pod-2 stands by and hands on the status of the leader, pod-1.", "a-worker"}},
		"no leader": {standby(""), nil, 1, []string{"standing by"}},
		"failing": {func(d *report.Document) {
			d.Source.LastError, d.Store.LastError, d.Store.WriteError, d.Healthy = "boom", "bang", "bang", false
			d.Source.Warnings = []string{"odd"}
		}, nil, 1, []string{"The source cannot be read: boom", "The slices cannot be written: bang", "Warning: odd"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := run(t, daemon(t, test.change), append([]string{"status"}, test.args...)...)
			if code != test.code || stderr != "" {
				t.Errorf("got status %d and %q on stderr, want %d and nothing", code, stderr, test.code)
			}
			for _, says := range test.says {
				if !strings.Contains(stdout, says) {
					t.Errorf("got no %q in\n%s", says, stdout)
				}
			}
		})
	}
}

func TestStatusListsFirstWhatIsNotReady(t *testing.T) {
	t.Parallel()
	_, stdout, _ := run(t, daemon(t, func(d *report.Document) {
		d.Nodes = []report.Node{
			node("ready", "10.0.0.1", "ready", "Ready", d.At), node("control-plane", "", "absent", "NotWorker", d.At),
			node("shaky", "10.0.0.2", "ready", "ReadyFailing", d.At), node("dead", "10.0.0.3", "down", "ProbeTimeout", d.At),
			node("lost", "", "absent", "NoPrivateAddress", d.At),
		}
		d.Nodes[3].Message = strings.Repeat("ä", 100)
	}), "status")
	_, table, _ := strings.Cut(stdout, "MESSAGE\n")
	var got []string
	for line := range strings.Lines(table) {
		got = append(got, strings.Fields(line)[0])
	}
	if want := []string{"dead", "lost", "shaky", "control-plane", "ready"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !strings.Contains(stdout, " "+strings.Repeat("ä", 79)+"…\n") {
		t.Errorf("a long message is not cut to 80 characters:\n%s", stdout)
	}
}

func TestStatusWaitsUntilAllIsWell(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	environ := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		change := unhealthy
		switch n := asked.Add(1); {
		case n == 1:
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		case n == 4:
			change = func(d *report.Document) { d.Healthy, d.Store.PendingSlices = false, 1 }
		case n > 4:
			change = unchanged
		}
		_ = json.NewEncoder(w).Encode(document(change))
	})
	code, stdout, stderr := run(t, environ, "status", "--wait")
	if code != 0 || !strings.HasPrefix(stdout, "2 of 2 nodes ready") {
		t.Errorf("got status %d, want 0:\n%s", code, stdout)
	}
	var said []string
	for line := range strings.Lines(stderr) {
		said = append(said, strings.TrimSpace(line))
	}
	if len(said) != 3 || !strings.Contains(said[0], "503") || said[1] != "Waiting: Holding: 1 of 2 nodes ready in default/web" || !strings.Contains(said[2], "1 slice not written yet") {
		t.Errorf("got %q, want each obstacle once", said)
	}
}

func TestStatusWaitsNoLongerThanItIsTold(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, daemon(t, unhealthy), "status", "--wait", "--timeout", "1500ms")
	if code != 124 || !strings.Contains(stdout, "HOLD") || strings.Count(stderr, "Waiting: ") != 1 {
		t.Errorf("got status %d, want 124 and what was last seen:\n%s%s", code, stdout, stderr)
	}
	for holder, says := range map[string]string{"pod-1": "Waiting: standing by for default/web; pod-1 leads, but its status cannot be read; nothing listens there", "": "Waiting: standing by"} {
		code, _, stderr := run(t, daemon(t, standby(holder)), "status", "--wait", "--timeout", "100ms")
		if code != 124 || !strings.Contains(stderr, says) {
			t.Errorf("a standby of %q: got status %d and %q, want 124 and %q", holder, code, stderr, says)
		}
	}
	// Slices in memory are the daemon's alone: what is computed says nothing of them.
	good := replacedIn(base, "STATIC_NODES=w1=127.0.0.11")
	if code, stdout, stderr := run(t, good, "status", "--wait", "--timeout", "100ms"); code != 124 || stdout != "" {
		t.Errorf("without a daemon: got status %d, want 124\n%s%s", code, stdout, stderr)
	}
}

// checkedBy makes it a target of documents, with a node whose status is not the expected one.
func checkedBy(spelled naming.Spelling, by naming.Kind) func(*report.Document) {
	return func(d *report.Document) {
		d.Service.Spelling = spelled
		d.Pools = []report.PoolPart{{PoolUse: report.PoolUse{Name: "blue", State: report.Active}, HealthCheckBy: by}}
		d.Nodes = append(d.Nodes, node("c-worker", "10.0.0.13", "down", "ProbeStatus", d.At))
	}
}

func TestExplainShowsWhatOnlyTheDaemonKnows(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*report.Document)
		subject string
		code    int
		says    []string
		notes   string
	}{
		"a ready node": {unchanged, "a-worker", 0, []string{"a-worker is published ready.", "Ready for 60m", "Pass 7 times in a row", "filter", "it is inside", "guard", "nothing to do"}, ""},
		"an address":   {unhealthy, "10.0.0.12", 1, []string{"10.0.0.12 is not published ready.", "b-worker", "down, ProbeRefused", "start the workload on its port"}, ""},
		"an address that two claim": {func(d *report.Document) {
			d.Nodes = append(d.Nodes, node("thief", "10.0.0.11", "absent", "DuplicateAddress", d.At))
		}, "10.0.0.11", 0, []string{"10.0.0.11 is published ready.", "a-worker", "thief"}, ""},
		"contract 117: annotations with a check": {checkedBy(naming.Annotations, naming.Service), "c-worker", 1, []string{
			"not among Service default/web endpoints.ablmnzde.github.io/health-check-expected-status", "check Service default/web endpoints.ablmnzde.github.io/health-check-path, or the workload",
		}, ""},
		"contract 117: annotations and the check of the pool": {checkedBy(naming.Annotations, naming.Pool), "c-worker", 1, []string{
			"not among EndpointPool blue spec.healthCheck.expectedStatus", "check EndpointPool blue spec.healthCheck.path, or the workload",
		}, ""},
		"contract 117: a binding with a check": {checkedBy(naming.Fields, naming.Binding), "c-worker", 1, []string{
			"not among EndpointBinding default/web spec.healthCheck.expectedStatus", "check EndpointBinding default/web spec.healthCheck.path, or the workload",
		}, ""},
		"a kept node while a removal is pending": {func(d *report.Document) {
			unhealthy(d)
			d.Removal = &report.Removal{Endpoints: 1, Inventories: 1}
		}, "a-worker", 0, []string{"HOLD for 60s: NoNodes: the source lists no node\n", "PENDING: 1 kept endpoint will be removed when 1 more scheduled inventory is rejected\n"}, ""},
		"what left":       {unchanged, "gone", 1, []string{"absent, Gone for 60s", "no longer in the inventory"}, ""},
		"a slip":          {unchanged, "a-wroker", 1, []string{"a-wroker is unknown: the source lists 2 nodes", "Did you mean a-worker?"}, ""},
		"a standby":       {standby("pod-1"), "w1", 0, []string{"w1 is published ready."}, "The daemon knows no nodes: standing by for default/web; pod-1 leads, but its status cannot be read; nothing listens there; evaluating locally instead."},
		"nothing decided": {func(d *report.Document) { d.Decided, d.Nodes = false, nil }, "w1", 0, []string{"w1 is published ready."}, "evaluating locally"},
		"a hostile answer": {func(d *report.Document) {
			d.Nodes[0].Message, d.Nodes[0].Decisions[0].Message = "\x1b[2J", "a\tb\n\u202ec"
		}, "a-worker", 0, []string{"a\ufffdb\ufffd\ufffdc"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := run(t, daemon(t, test.change), "explain", test.subject)
			if code != test.code || !strings.Contains(stderr, test.notes) || test.notes == "" && stderr != "" {
				t.Errorf("got status %d and %q, want %d and %q", code, stderr, test.code, test.notes)
			}
			for _, says := range test.says {
				if !strings.Contains(stdout, says) {
					t.Errorf("got no %q in\n%s", says, stdout)
				}
			}
			if strings.Contains(stdout, "\x1b") {
				t.Errorf("got a control character in %q", stdout)
			}
		})
	}
}
