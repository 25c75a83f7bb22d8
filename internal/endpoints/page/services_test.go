package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/page"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// threeServices is a list of one Service that is healthy, one that is not, and one whose
// wish is refused.
func threeServices(q report.Query) *report.Services {
	now := time.Date(2026, 11, 3, 3, 14, 15, 0, time.UTC)
	all := []report.ServiceStatus{
		{Namespace: "shop", Service: "db", Condition: report.FailOpen, Summary: "Failing open: 0 of 3 nodes pass", Pools: []report.PoolUse{{Name: "green", State: report.Leaving, StateMessage: "its binding is gone"}}, ReadyEndpoints: 3, Endpoints: 3},
		{Namespace: "blog", Service: "greedy", Condition: report.Refused, Summary: "nothing is published", Refusals: []report.Refusal{{Pool: "secret", Reason: "PoolNotAllowed", Message: "namespace blog may not use a pool secret"}}},
		{Namespace: "blog", Service: "web", Condition: report.Healthy, Summary: "3 of 3 nodes ready in blog/web", Pools: []report.PoolUse{{Name: "blue", State: report.Active}}, ReadyEndpoints: 3, Endpoints: 3},
	}
	t := &report.Services{
		Headline: report.Headline{Head: report.Head{APIVersion: report.APIVersion, At: now, Decided: true, Leader: true}, Summary: "1 of 3 Services healthy", Condition: report.FailOpen,
			Program: report.Program{Version: "v1.2.3", StartedAt: now.Add(-time.Hour)}},
		Documents:    &report.Documents{Generation: 2, Mistakes: []report.Mistake{{Place: "a.yaml:3", Message: "spec.subnetz is not known"}}},
		ServicesKept: "2 of 3 Services lost their binding", ServicesWithoutPool: []report.ServiceWithoutPool{{Namespace: "shop", Service: "old", Pool: "gone", Slice: "old.gone", Endpoints: 1}},
		Pools: []report.PoolStatus{
			{Name: "blue", Condition: report.Healthy, ModeState: report.ModeState{Mode: "Publish"}, Source: &report.SourceState{Kind: "ionos", LastSuccess: now.Add(-12 * time.Second)}, Services: 1, Stages: report.Stages{Ready: 3}},
			{Name: "green", Condition: report.FailOpen, ModeState: report.ModeState{Mode: "FailOpen", Reason: "NothingPasses", Message: "none of 3 endpoints passes"}, Problem: "no file token", Services: 1, Stages: report.Stages{Ready: 3}},
			{Name: "idle", Condition: report.Healthy, ModeState: report.ModeState{Mode: "Publish"}},
		},
		Conditions: []report.ConditionCount{{Condition: report.FailOpen, Services: 1}, {Condition: report.Refused, Services: 1}, {Condition: report.Healthy, Services: 1}},
		Known:      3, Offset: min(q.Offset, 3),
	}
	for _, s := range all {
		if q.Namespace == "" || q.Namespace == s.Namespace {
			t.Total++
			t.Services = append(t.Services, s)
		}
	}
	t.Services = t.Services[min(t.Offset, len(t.Services)):]
	t.Services = t.Services[:min(q.Limit, len(t.Services))]
	return t
}

// many serves what a process with many Services shows.
func many(t *testing.T, changes ...func(*page.Options)) *world {
	t.Helper()
	return newWorld(t, append([]func(*page.Options){func(o *page.Options) {
		o.Home, o.Services = func() (namespace, service string) { return "", "" }, threeServices
		o.Service = func(namespace, service string) (*report.Document, error) {
			if namespace != "shop" {
				return nil, &report.NoService{Message: "namespace " + namespace + " may not use a pool secret"}
			}
			d := threeNodes()
			d.Service = report.Service{Namespace: namespace, Name: service, Spelling: naming.Fields}
			d.Pools = []report.PoolPart{{PoolUse: report.PoolUse{Name: "blue", State: report.Active}, PoolState: report.PoolState{ModeState: report.ModeState{Mode: "Publish"}}}, {PoolUse: report.PoolUse{Name: "green", State: report.Waiting, StateMessage: "not all were checked"}, PoolState: report.PoolState{ModeState: report.ModeState{Mode: "Hold", Message: "the source lists no node"}}}}
			d.Nodes[0].Pool = "green"
			d.DecidedBy = []report.DecidedBy{{Kind: "EndpointBinding", Namespace: "shop", Name: "web", Place: "API server"}, {Kind: "EndpointPool", Name: "blue", Place: "pools.yaml:3"}}
			d.Refusals = []report.Refusal{{Pool: "secret", Reason: "PoolNotAllowed", Message: "may not use a pool secret"}}
			return &d, nil
		}
		o.Explain = func(subject string, q report.Query) *report.Explanation {
			return &report.Explanation{Head: report.Head{APIVersion: report.APIVersion, Leader: true}, Subject: subject, Known: 3, Total: 1, Services: []report.ExplainedService{{Namespace: q.Namespace, Service: "web"}}}
		}
	}}, changes...)...)
}

// everyTarget lists what is served about targets.
func everyTarget() []string {
	return []string{"/", "/?namespace=shop&refresh=5", "/services/shop/web", "/api/v1/services", "/api/v1/services/shop/web", "/api/v1/explain?subject=w1", "/style.css"}
}

func TestContract48ManyTargetsAreListedAndEachHasItsPage(t *testing.T) {
	t.Parallel()
	w := many(t)
	body := w.page("").body
	says(t, body, "<title>✗ 1 of 3 Services healthy</title>", "a.yaml:3: spec.subnetz is not known", "Many Services vanished at once", "Slice old.gone of Service shop/old, pool gone, 1 endpoint.",
		"FailOpen: NothingPasses: none of 3 endpoints passes", "It cannot be read as its document says: no file token", "not read, because no Service uses it", "12s ago",
		`<a href="/services/shop/db"><bdi class="name">db</bdi></a>`, "namespace blog may not use a pool secret", "green (leaving)", "its binding is gone", "1 to 3 of 3, the worst first", "v1.2.3")
	if strings.Contains(body, "/services/blog/greedy") {
		t.Error("the page links to the page of a Service that has none")
	}
	if before := strings.Index(body, `id="pools"`); before < 0 || before > strings.Index(body, `id="nodes"`) {
		t.Error("the page does not begin with the pools")
	}
	one := w.page("services/shop/web").body
	says(t, one, "1 of 2 nodes ready", "pool <bdi>green</bdi>", "Pool green is waiting: not all were checked.", "PoolNotAllowed: may not use a pool secret.",
		"Decided by", "EndpointBinding shop/web (API server)", "EndpointPool blue (pools.yaml:3)", `action="/services/shop/web"`, `href="/api/v1/services/shop/web"`, `href="/services/shop/web?state=down"`, "All Services", "the source lists no node")
	for path, want := range map[string]string{
		"/api/v1/services?namespace=blog&limit=1":   `"total":2,"offset":0,"services":[{"namespace":"blog","service":"greedy"`,
		"/api/v1/services/shop/web":                 `"name":"green","state":"waiting"`,
		"/api/v1/explain?subject=w1&namespace=shop": `"services":[{"namespace":"shop","service":"web"`,
	} {
		if got := w.ask(http.MethodGet, w.admin, path); got.code != http.StatusOK || !strings.Contains(got.body, want) || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %d, want %s in\n%s", path, got.code, want, got.body)
		}
	}
}

// Contract 229: the first page is that of the only Service.
func TestContract229TheFirstPageIsThatOfTheOnlyService(t *testing.T) {
	t.Parallel()
	w := many(t, func(o *page.Options) { o.Home = func() (namespace, service string) { return "shop", "web" } })
	says(t, w.page("").body, "1 of 2 nodes ready", `action="/"`, `href="/?state=down"`, `href="/api/v1/services/shop/web"`, `<a href="/services">All Services</a>`)
	says(t, w.page("services").body, "1 of 3 Services healthy", `action="/services"`)
}

// Contract 229: the name of the pool of variables is not in the configuration, so no page says it.
func TestContract229ThePageOfVariablesNamesNoPool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(func() {
		w.doc.Pools = []report.PoolPart{{PoolUse: report.PoolUse{Name: "remote", State: report.Waiting, StateMessage: "2 of 3 endpoints pass"}, PoolState: report.PoolState{ModeState: report.ModeState{Mode: "Publish"}}}}
	})
	body := w.page("").body
	says(t, body, "The endpoints are waiting: 2 of 3 endpoints pass.")
	for _, word := range []string{">remote<", "Pool", "pool ", "All Services", "Decided by"} {
		if strings.Contains(body, word) {
			t.Errorf("the page says %q", word)
		}
	}
}

func TestContract188ThePageOfManyTargetsTellsWhatToDoAboutASource(t *testing.T) {
	t.Parallel()
	w := many(t, func(o *page.Options) {
		o.Services = func(report.Query) *report.Services {
			return &report.Services{Headline: report.Headline{Head: report.Head{APIVersion: report.APIVersion, At: time.Now(), Leader: true, Decided: true}, Condition: report.NothingReady}, Pools: []report.PoolStatus{
				{Name: "berlin", Condition: report.NothingReady, Source: &report.SourceState{Kind: "ionos", LastError: "get servers: 401 Unauthorized"}},
				{Name: "london", Condition: report.Healthy, Source: &report.SourceState{Kind: "kubernetes", LastSuccess: time.Now()}},
			}}
		}
	})
	body := w.page("?service=web").body
	says(t, body, "Sources that cannot be read", "Pool berlin (ionos), never read: get servers: 401 Unauthorized.", "What to do:", "docs/runbooks/inventory.md#ionosendpointslicesourcefailing",
		`name="service" value="web"`, "published endpoints")
	if strings.Contains(body, "Pool london (") {
		t.Error("a source that can be read is among those that cannot")
	}
}

func TestHostileNamesOfPoolsAndServicesAreTextAndNothingElse(t *testing.T) {
	t.Parallel()
	const script, hidden = `"><script>x()</script>`, "a\u202eb\x00\nc"
	w := many(t, func(o *page.Options) {
		o.Services = func(q report.Query) *report.Services {
			all := threeServices(q)
			all.Summary, all.ServicesKept = script, hidden
			all.Pools[0].Name, all.Pools[0].Problem, all.Pools[0].Source.Kind = script, hidden, hidden
			all.Services[0].Namespace, all.Services[0].Service, all.Services[0].Summary = script, hidden, hidden
			all.Services[0].Pools[0] = report.PoolUse{Name: hidden, State: report.Leaving, StateMessage: script}
			return all
		}
	})
	body := w.page("").body
	says(t, body, "&lt;script&gt;x()&lt;/script&gt;", `<bdi class="name">a\u202eb\x00\nc</bdi>`, `<bdi>a\u202eb\x00\nc (leaving)</bdi>`)
	for _, never := range []string{"<script", "\u202e", "\x00"} {
		if strings.Contains(body, never) {
			t.Errorf("the page has %q", never)
		}
	}
}

func TestThePageOfManyTargetsHasFurtherPages(t *testing.T) {
	t.Parallel()
	w := many(t)
	says(t, w.page("?limit=1&offset=1&refresh=5").body, `<a href="/services?limit=1&amp;refresh=5" rel="prev">`, `<a href="/services?limit=1&amp;offset=2&amp;refresh=5" rel="next">`, "2 to 2 of 3", `href="/api/v1/services?limit=1&amp;offset=1"`,
		`<a href="/services?condition=Unhealthy&amp;limit=1&amp;refresh=5">not healthy <span>2</span></a>`, `<a href="/services?limit=1&amp;pool=blue&amp;refresh=5">`)
	says(t, w.page("?namespace=pay").body, "No Service matches.")
	if got := w.page("?refresh=5").header.Get("Refresh"); got != "5" {
		t.Errorf("got Refresh %q, want 5", got)
	}
}

func TestWrongQuestionsAboutTargetsAreToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := many(t)
	for path, want := range map[string]string{
		"/?condition=odd":                                     `condition="odd" is not known; write one of Unhealthy, NothingReady, FailOpen`,
		"/?refresh=1":                                         "refresh",
		"/api/v1/services?limit=0":                            `limit="0" is not a number from 1 to 1000`,
		"/api/v1/services?limit=1001":                         "from 1 to 1000",
		"/api/v1/services?offset=-1":                          `offset="-1" is not a number from 0 to 1000000`,
		"/api/v1/services?pool=a&pool=b":                      "pool is given 2 times; give it once",
		"/api/v1/explain":                                     "subject is missing; give the name or id of a node, or an address, for example subject=10.0.0.11",
		"/api/v1/explain?subject=" + strings.Repeat("a", 300): "subject is longer than 256 bytes",
		"/services/shop/web?state=odd":                        "state",
	} {
		if got := w.ask(http.MethodGet, w.admin, path); got.code != http.StatusBadRequest || !strings.Contains(got.body, want) {
			t.Errorf("%s: got %d %s, want 400 and %s", path, got.code, got.body, want)
		}
	}
	for path, want := range map[string]string{
		"/api/v1/services/blog/greedy": "namespace blog may not use a pool secret",
		"/services/blog/greedy":        "namespace blog may not use a pool secret",
		"/api/v1/status":               "404 page not found",
	} {
		if got := w.ask(http.MethodGet, w.admin, path); got.code != http.StatusNotFound || !strings.Contains(got.body, want) {
			t.Errorf("%s: got %d %s, want 404 and %s", path, got.code, got.body, want)
		}
	}
	for _, path := range everyTarget() {
		if got := w.ask(http.MethodPost, w.admin, path); got.code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: got %d, want 405", path, got.code)
		}
		if got := w.ask(http.MethodGet, w.metrics, path); got.code != http.StatusNotFound {
			t.Errorf("%s at METRICS_ADDRESS: got %d, want 404", path, got.code)
		}
	}
}

func TestWhatTargetsShowSaysThatTheProgramStandsStill(t *testing.T) {
	t.Parallel()
	w := many(t)
	w.set(func() { w.live = errors.New("no pass for 30s") })
	for _, path := range []string{"/api/v1/services", "/api/v1/services/shop/web", "/api/v1/explain?subject=w1"} {
		if got := w.ask(http.MethodGet, w.admin, path).body; !strings.Contains(got, `"standstill":"loop: no pass for 30s"`) {
			t.Errorf("%s says nothing of it: %s", path, got)
		}
	}
	says(t, w.page("").body, "The program stands still", "loop: no pass for 30s")
}

// Contract 48: a standby hands on all that the leader says of its targets.
func TestContract48AStandbyHandsOnWhatTheLeaderSaysOfTargets(t *testing.T) {
	t.Parallel()
	leader := many(t, func(o *page.Options) { o.Identity = func() string { return "pod-a_X" } })
	ask := func(path string) answer {
		return leader.ask(http.MethodGet, leader.metrics, page.LeaderPath+path, [2]string{"Authorization", "Bearer pod-a_X"})
	}
	var gone atomic.Bool
	standby := many(t, func(o *page.Options) {
		o.Services = func(report.Query) *report.Services {
			return &report.Services{Headline: report.Headline{Head: report.Head{At: time.Now(), Election: report.Election{Enabled: true, Holder: "pod-a_X"}}, Condition: report.StandingBy, Summary: "standing by; pod-a_X leads"}}
		}
		o.Ask = func(_ context.Context, path string, into report.Answer) (bool, error) {
			if gone.Load() {
				return false, errors.New("nothing listens there")
			}
			got := ask(path)
			if got.code == http.StatusNotFound {
				return false, &report.NoService{Message: got.body}
			}
			if got.code != http.StatusOK {
				return false, fmt.Errorf("the answer is %d", got.code)
			}
			err := json.Unmarshal([]byte(got.body), into)
			into.HandOn("pod-b", "pod-a_X")
			return err == nil, err
		}
	})
	for path, want := range map[string]string{
		"/":                            "pod-b answers here.",
		"/?namespace=blog":             "1 to 2 of 2 that match, of 3 in all",
		"/services/shop/web":           "pod-b answers here.",
		"/api/v1/services?offset=2":    `"offset":2,"services":[{"namespace":"blog","service":"web"`,
		"/api/v1/services/shop/web":    `"handedOnBy":"pod-b"`,
		"/api/v1/explain?subject=w+1":  `"subject":"w 1"`,
		"/api/v1/services/blog/greedy": "namespace blog may not use a pool secret",
	} {
		if got := standby.ask(http.MethodGet, standby.admin, path); !strings.Contains(got.body, want) {
			t.Errorf("%s: got %d, want %s in\n%s", path, got.code, want, got.body)
		}
	}
	if got := leader.ask(http.MethodGet, leader.metrics, page.LeaderPath+"/services"); got.code != http.StatusForbidden {
		t.Errorf("got %d for a stranger, want 403", got.code)
	}
	gone.Store(true)
	says(t, standby.page("").body, "standing by; pod-a_X leads, but its status cannot be read", "nothing listens there", "This replica stands by and knows no Services.")
}

// Contract 71: what is asked for at once is bounded.
func TestContract71FewListsAreMadeAtOnce(t *testing.T) {
	t.Parallel()
	making, release := make(chan struct{}, 8), make(chan struct{})
	w := many(t, func(o *page.Options) {
		o.Services = func(q report.Query) *report.Services {
			making <- struct{}{}
			<-release
			return threeServices(q)
		}
	})
	codes := make(chan int, 8)
	for range cap(codes) {
		go func() {
			response, err := w.client.Get("http://" + w.admin + "/api/v1/services")
			if err != nil {
				codes <- 0
				return
			}
			response.Body.Close()
			codes <- response.StatusCode
		}()
	}
	for range cap(codes) - 2 {
		if got := <-codes; got != http.StatusServiceUnavailable {
			t.Errorf("got %d, want 503", got)
		}
	}
	close(release)
	for range 2 {
		if got := <-codes; got != http.StatusOK {
			t.Errorf("got %d, want 200", got)
		}
	}
	if len(making) != 2 {
		t.Errorf("got %d lists made at once, want 2", len(making))
	}
}
