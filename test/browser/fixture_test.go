package browser_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	admin "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/page"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// serve serves a document that no real program has made, until the test ends.
func serve(t *testing.T, doc report.Document) string {
	t.Helper()
	return serving(t, admin.Options{
		Home:     func() (namespace, service string) { return doc.Service.Namespace, doc.Service.Name },
		Services: func(report.Query) *report.Services { return &report.Services{Known: 1} },
		Service:  func(string, string) (*report.Document, error) { return &doc, nil },
	})
}

// serveMany serves a list of targets that no real program has made.
func serveMany(t *testing.T, list report.Services) string {
	t.Helper()
	return serving(t, admin.Options{
		Home: func() (namespace, service string) { return "", "" },
		Services: func(report.Query) *report.Services {
			one := list // of this request
			return &one
		},
	})
}

func serving(t *testing.T, options admin.Options) string {
	t.Helper()
	any := netip.MustParseAddrPort("127.0.0.1:0")
	options.Admin, options.Metrics = any, any
	options.Configuration, options.Scrape, options.Logger = func() fmt.Stringer { return time.Second }, http.NotFoundHandler(), slog.New(slog.DiscardHandler)
	options.Ask = func(context.Context, string, report.Answer) (bool, error) { return false, nil }
	server := admin.New(options)
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	address, _ := server.Addresses()
	return fmt.Sprintf("http://%s/", address)
}

// blank is a document of a program that has just begun.
func blank() report.Document {
	now := time.Date(2026, 11, 3, 3, 14, 15, 0, time.UTC)
	return report.Document{
		Headline: report.Headline{
			Head:    report.Head{APIVersion: report.APIVersion, At: now, Leader: true, Decided: true},
			Program: report.Program{Version: "v1.2.3", StartedAt: now.Add(-time.Hour), UptimeSeconds: 3600},
		},
		PoolState: report.PoolState{ModeState: report.ModeState{Mode: "Publish"}, Source: report.SourceState{Kind: "ionos"}},
		Service:   report.Service{Namespace: "default", Name: "web"}, Store: report.Store{Kind: "client-go"},
	}
}

// fixtures are states that take the real program too long, or another cluster.
func fixtures(t *testing.T) []page {
	standby := blank()
	standby.Leader, standby.Decided, standby.Condition = false, false, report.StandingBy
	standby.Summary = "standing by for default/web; controller-7d9f_XQ4 leads"
	standby.Election = report.Election{Enabled: true, Holder: "controller-7d9f_XQ4", Since: standby.At.Add(-time.Hour)}

	trouble := blank()
	trouble.Condition = report.Failing
	trouble.Summary = "1 of 2 nodes ready in default/web; the Service cannot be filled: ServiceHasSelector"
	trouble.Problem = &report.Problem{Kind: "ServiceHasSelector", Message: "Service default/web has a selector, so Kubernetes manages its endpoints itself; remove spec.selector"}
	trouble.Store.LastError = "list endpointslices: connection refused"
	trouble.Store.PendingSlices, trouble.Store.LastWrite = 2, trouble.At.Add(-10*time.Minute)
	trouble.Store.SlicesOfOthers = []string{"web-remote: managed by helm"}
	trouble.Store.SlicesBeside = []string{"web-x2x9f: of the controller of endpoints"}
	trouble.Source.Warnings = []string{"two servers have the address 10.0.0.4"}
	trouble.Source.LastError, trouble.Source.NextRead = "get servers: 429 Too Many Requests", trouble.At.Add(3*time.Minute)
	trouble.Nodes = []report.Node{
		{Name: "abc\u202egnp.exe", Address: "10.0.0.3", State: "down", Reason: "ProbeTimeout", Message: "no answer from 10.0.0.3:80 within HEALTH_CHECK_TIMEOUT=1s", Since: trouble.At.Add(-49 * time.Hour),
			HealthCheck: &report.HealthCheck{Outcome: "Silent", LatencySeconds: 1, Streak: 70, At: trouble.At.Add(-time.Second)}},
		{Name: "worker\x00\u200b\n2", Address: "10.0.0.4", State: "ready", Reason: "Ready", Message: "10.0.0.4:80 accepted the connection", Since: trouble.At.Add(-50 * time.Hour),
			HealthCheck: &report.HealthCheck{Outcome: "LocalError", Message: "too many open files"}},
		{Name: "leaver", Address: "fd00:10:20:30:40:50:60:70", State: "draining", Reason: "Draining", Message: "gone from the inventory", Since: trouble.At.Add(-12 * time.Second)},
	}
	trouble.Stages = report.Stages{Nodes: 2, Eligible: 2, Passing: 1, Ready: 1, Draining: 1, Down: 1}
	trouble.Cycles = []report.Cycle{
		{At: trouble.At.Add(-time.Second), DurationSeconds: 0.2, Error: trouble.Source.LastError, Repeats: 9},
		{At: trouble.At.Add(-10 * time.Minute), DurationSeconds: 1.25, Writes: 2, Added: addresses(300), Removed: addresses(1), Changed: addresses(2)},
	}
	return []page{
		{"standby", serve(t, standby), []string{"Standing by", "controller-7d9f_XQ4 leads", "This replica stands by and knows no nodes."}, nil, "", 0, nil},
		{"trouble", serve(t, trouble), []string{
			"In trouble", "ServiceHasSelector", "connection refused", "2 slices wait to be written", "managed by helm", "of the controller of endpoints",
			"two servers have the address", "The next attempt is in 3m", `abc\u202egnp.exe`, `worker\x00\u200b\n2`, "too many open files", "300 added", "and 294 more",
		}, []string{"\u202e"}, "", 3, nil},
		manyServices(t),
	}
}

// manyServices is the page of a process that fills many Services.
func manyServices(t *testing.T) page {
	doc := blank()
	list := report.Services{
		Headline:  report.Headline{Head: report.Head{APIVersion: report.APIVersion, At: doc.At, Decided: true, Leader: true}, Summary: "118 of 120 Services healthy: 1 FailOpen, 1 Refused", Condition: report.FailOpen, Program: doc.Program},
		Documents: &report.Documents{Generation: 4, Mistakes: []report.Mistake{{Place: "pools/green.yaml:7", Message: "EndpointPool green spec.subnetz: is not known; write spec.subnets"}}},
		Pools: []report.PoolStatus{
			{Name: "blue", Condition: report.Healthy, ModeState: report.ModeState{Mode: "Publish"}, Source: &report.SourceState{Kind: "ionos", LastSuccess: doc.At.Add(-9 * time.Second)}, Services: 119, Stages: report.Stages{Ready: 300}},
			{Name: "green", Condition: report.FailOpen, ModeState: report.ModeState{Mode: "FailOpen", Reason: "NothingPasses", Message: "no endpoint passes its health check"}, Source: &report.SourceState{Kind: "kubernetes", LastError: "connection refused"}, Services: 1, Stages: report.Stages{Ready: 3}},
		},
		Conditions: []report.ConditionCount{{Condition: report.FailOpen, Services: 1}, {Condition: report.Refused, Services: 1}, {Condition: report.Healthy, Services: 118}},
		Known:      120, Total: 120,
		Services: []report.ServiceStatus{
			{Namespace: "shop", Service: "db", Condition: report.FailOpen, Summary: "Failing open: 0 of 3 nodes pass, 3 of 3 published ready in shop/db", Pools: []report.PoolUse{{Name: "green", State: report.Leaving, StateMessage: "its binding is gone"}}, ReadyEndpoints: 3, Endpoints: 3},
			{Namespace: "blog", Service: "abc\u202egnp", Condition: report.Refused, Summary: "nothing is published", Refusals: []report.Refusal{{Pool: "secret", Reason: "PoolNotAllowed", Message: "namespace blog may not use a pool secret"}}},
			{Namespace: "a-namespace-" + strings.Repeat("n", 51), Service: "a-service-" + strings.Repeat("s", 53), Condition: report.Healthy, Summary: "3 of 3 nodes ready", Pools: []report.PoolUse{{Name: "blue", State: report.Active}}, ReadyEndpoints: 3, Endpoints: 3},
		},
	}
	return page{"many-services", serveMany(t, list), []string{
		"118 of 120 Services healthy", "pools/green.yaml:7", "The source cannot be read: connection refused", "green (leaving)", "may not use a pool secret", `abc\u202egnp`, "1 to 3 of 120, the worst first", "After these",
	}, []string{"\u202e"}, "", 5, nil}
}

// addresses are so many of them.
func addresses(count int) []string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf("10.1.%d.%d", i/200, i%200)
	}
	return all
}
