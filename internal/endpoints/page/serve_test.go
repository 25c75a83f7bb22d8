package page_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/page"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// anyPort is an address of this machine with a free port.
func anyPort() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:0") }

// netipAny is every address of this machine.
func netipAny() netip.AddrPort { return netip.MustParseAddrPort("0.0.0.0:0") }

// settings is a configuration.
type settings []string

func (s settings) String() string { return fmt.Sprintln([]string(s)) }

// world is a server on real sockets and what it shows.
type world struct {
	t              *testing.T
	admin, metrics string
	client         *http.Client
	// stop ends Run; ended is closed when it has returned.
	stop  func()
	ended chan struct{}

	mu          sync.Mutex
	doc         report.Document
	live, ready error
}

// set changes what is shown.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// document returns a copy.
func (w *world) document() *report.Document {
	w.mu.Lock()
	defer w.mu.Unlock()
	doc := w.doc
	return &doc
}

// check returns a check that reads an error of the world.
func (w *world) check(name string, result *error) page.Check {
	return page.Check{Name: name, Run: func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		return *result
	}}
}

// newWorld serves a document of three nodes, with changes to the options.
func newWorld(t *testing.T, changes ...func(*page.Options)) *world {
	t.Helper()
	w := &world{t: t, doc: threeNodes(), ended: make(chan struct{}), client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	opts := page.Options{
		Admin: anyPort(), Metrics: anyPort(),
		Home: func() (namespace, service string) { return "default", "web" },
		Services: func(report.Query) *report.Services {
			return &report.Services{Headline: report.Headline{Head: report.Head{APIVersion: report.APIVersion}}, Known: 1}
		},
		Service: func(string, string) (*report.Document, error) { return w.document(), nil },
		Explain: func(string, report.Query) *report.Explanation {
			return &report.Explanation{Head: report.Head{APIVersion: report.APIVersion}}
		},
		Ask:           func(context.Context, string, report.Answer) (bool, error) { return false, nil },
		Identity:      func() string { return "" },
		Configuration: func() fmt.Stringer { return settings{"TARGET_PORT=8080"} },
		Live:          []page.Check{w.check("loop", &w.live)},
		Ready:         []page.Check{w.check("decision", &w.ready)},
		Scrape:        http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, "up 1\n") }),
		Logger:        slog.New(slog.DiscardHandler),
	}
	for _, change := range changes {
		change(&opts)
	}
	server := page.New(opts)
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, m := server.Addresses()
	w.admin, w.metrics = a.String(), m.String()
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go func() {
		defer close(w.ended)
		if err := server.Run(ctx); err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	}()
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		stop()
		<-w.ended
	})
	return w
}

// answer is what came back.
type answer struct {
	code   int
	header http.Header
	body   string
}

// ask sends a request to an address and path, with headers "Name: value".
func (w *world) ask(method, address, path string, headers ...[2]string) answer {
	w.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, "http://"+address+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range headers {
		if request.Header.Set(h[0], h[1]); h[0] == "Host" {
			request.Host = h[1]
		}
	}
	response, err := w.client.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		w.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

// page gets the status page with a query.
func (w *world) page(query string) answer {
	w.t.Helper()
	return w.ask(http.MethodGet, w.admin, "/"+query)
}

// threeNodes is a document of one node that is down, one that is ready and one
// that is no worker.
func threeNodes() report.Document {
	now := time.Date(2026, 11, 3, 3, 14, 15, 0, time.UTC)
	return report.Document{
		Headline: report.Headline{Head: report.Head{APIVersion: report.APIVersion, At: now, Leader: true, Decided: true}, Summary: "1 of 2 nodes ready in default/web", Condition: report.Degraded, Program: report.Program{Version: "v1.2.3", StartedAt: now.Add(-time.Hour), UptimeSeconds: 3600}},
		PoolState: report.PoolState{
			ModeState: report.ModeState{Mode: "Publish"},
			Source:    report.SourceState{Kind: "file", LastSuccess: now.Add(-12 * time.Second), NextRead: now.Add(18 * time.Second)},
			Stages:    report.Stages{Nodes: 3, Eligible: 2, Passing: 1, Ready: 1, Down: 1},
		},
		Service: report.Service{Namespace: "default", Name: "web", Slices: []string{"web-remote"}}, Store: report.Store{Kind: "memory"},
		Nodes: []report.Node{
			{Name: "w1", ID: "id-1", Address: "10.0.0.1", Zone: "de/fra", State: "ready", Reason: "Ready", Message: "10.0.0.1:80 accepted the connection", Since: now.Add(-time.Hour),
				HealthCheck: &report.HealthCheck{Outcome: "Pass", LatencySeconds: 0.0012, Streak: 7, At: now.Add(-2 * time.Second)}},
			{Name: "w2", Address: "10.0.0.2", State: "down", Reason: "ProbeRefused", Message: "connection refused, at least HEALTH_CHECK_FALL=3 times in a row: no traffic until HEALTH_CHECK_RISE=2 passes in a row", Since: now.Add(-90 * time.Second),
				HealthCheck: &report.HealthCheck{Outcome: "Refused", Streak: 4, At: now.Add(-time.Second)},
				Decisions:   []report.Decision{{Stage: "filter", Message: "10.0.0.2 is inside"}, {Stage: "health", Reason: "ProbeRefused", Message: "connection refused"}}},
			{Name: "control", State: "absent", Reason: "NotWorker", Message: "the node is no worker"},
		},
		Cycles: []report.Cycle{{At: now.Add(-12 * time.Second), DurationSeconds: 0.25, Inventory: &explain.Inventory{Nodes: 3}}},
	}
}
