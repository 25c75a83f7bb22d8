package report_test

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// platform is what a process that fills many Services has come to.
type platform struct {
	t testing.TB
	report.Process
	groups map[string]assign.Group
	states map[string]*report.Status
}

func newPlatform(t testing.TB) *platform {
	t.Helper()
	now := time.Now()
	return &platform{
		t: t, groups: map[string]assign.Group{}, states: map[string]*report.Status{},
		Process: report.Process{
			Now: now, StoreKind: "client-go", Leader: true, Version: "v1.2.3", Started: now.Add(-time.Hour),
			Snapshot: &controller.Snapshot{At: now, Documents: documents.Set{Generation: 3, Complete: true}},
		},
	}
}

// pool adds a pool with one group, which has come to that.
func (p *platform) pool(name string, status *report.Status) *platform {
	s := p.Snapshot
	document := v1alpha1.EndpointPool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.EndpointPoolSpec{Source: v1alpha1.PoolSource{File: &v1alpha1.FileSource{}}}}
	s.Plan.Pools, s.Pools = append(s.Plan.Pools, document), append(s.Pools, controller.Pool{Name: name})
	s.Documents.Entries = append(s.Documents.Entries, documents.Entry{Key: documents.Key{Kind: v1alpha1.KindEndpointPool, Name: name}, Pool: &document})
	key := assign.Group{Pool: name, Check: assign.Check{Mode: v1alpha1.HealthCheckHTTP, Port: 8080, Path: "/ready"}}
	p.groups[name], p.states[name] = key, status
	s.Groups = append(s.Groups, controller.Group{Group: key, State: &controller.GroupState{
		Outcome:   pool.Outcome{At: status.At, Decided: true, Verdict: &status.Verdict, Health: status.Health, Source: status.Source},
		ModeSince: status.ModeSince, Findings: func() []explain.Finding { return status.Findings },
	}})
	return p
}

// A source that was never read needs somebody, however long the process waits.
func TestContract188APoolThatWasNeverReadSaysSo(t *testing.T) {
	t.Parallel()
	never := &report.Status{}
	p := newPlatform(t).pool("blue", never).target("shop", "web", "blue")
	p.Snapshot.Groups[0].State.Decided, p.Snapshot.Targets[0].Fills[0].State = false, nil
	if got := p.Services(report.Query{}); got.Condition != report.Starting || got.Pools[0].Condition != report.Starting {
		t.Errorf("before the first read: got %s, pool %s, want Starting", got.Condition, got.Pools[0].Condition)
	}
	p.Snapshot.Groups[0].State.Source.LastErr = errors.New("401 Unauthorized")
	got := p.Services(report.Query{})
	if got.Condition != report.NothingReady || got.Pools[0].Condition != report.NothingReady || !strings.Contains(got.Services[0].Summary, "no decision yet for shop/web: the source cannot be read") {
		t.Errorf("got %s, pool %s, %q, want that nothing is ready and why", got.Condition, got.Pools[0].Condition, got.Services[0].Summary)
	}
}

func TestContract188ServicesAreFoundByAPartOfTheirName(t *testing.T) {
	t.Parallel()
	p := newPlatform(t).pool("blue", &report.Status{})
	for _, name := range []string{"api-web", "db", "web"} {
		p.target("shop", name, "blue")
	}
	var names []string
	for _, s := range p.Services(report.Query{Service: "web"}).Services {
		names = append(names, s.Service)
	}
	if diff := cmp.Diff([]string{"api-web", "web"}, names); diff != "" {
		t.Errorf("Services (-want +got):\n%s", diff)
	}
}

// target adds a Service of those pools, whose slices are right.
func (p *platform) target(namespace, service string, pools ...string) *platform {
	t := assign.Assignment{Key: assign.Key{Namespace: namespace, Service: service}}
	var runs controller.ServiceState
	for _, name := range pools {
		t.Uses = append(t.Uses, assign.PoolUse{Use: assign.Use{Group: p.groups[name], By: naming.Binding, CheckBy: naming.Pool}, State: assign.Active})
		of := target
		of.Namespace, of.Service, of.Pool, of.SliceName = namespace, service, name, service+"."+name
		state := publish.State{Service: p.states[name].State.Service}
		state.Slices, _ = publish.Desired(p.states[name].Verdict.Members, state, of)
		runs.Fills = append(runs.Fills, controller.Fill{Target: of, State: &controller.FillState{State: state}})
	}
	p.Snapshot.Plan.Targets, p.Snapshot.Targets = append(p.Snapshot.Plan.Targets, t), append(p.Snapshot.Targets, runs)
	return p
}

// last is the target that was added last.
func (p *platform) last() (*assign.Assignment, *controller.ServiceState) {
	i := len(p.Snapshot.Targets) - 1
	return &p.Snapshot.Plan.Targets[i], &p.Snapshot.Targets[i]
}

// one is the document of a target.
func (p *platform) one(namespace, service string) *report.Document {
	p.t.Helper()
	d, err := p.Service(namespace, service)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

// failing is a pool of which nothing passes, good one of which all pass.
func failing(t testing.TB) *report.Status {
	t.Helper()
	w := newWorld(3).publish()
	w.refuses = func(netip.Addr) bool { return true }
	return w.assess(t)
}

func good(t testing.TB) *report.Status {
	t.Helper()
	return newWorld(3).publish().assess(t)
}

// names are the targets of a list, in order.
func names(all *report.Services) string {
	var out []string
	for _, t := range all.Services {
		out = append(out, t.Namespace+"/"+t.Service+" "+string(t.Condition))
	}
	return strings.Join(out, ", ")
}

// various is a platform with targets in many conditions.
func various(t testing.TB) *platform {
	t.Helper()
	p := newPlatform(t).pool("blue", good(t)).pool("green", failing(t))
	p.target("blog", "a", "blue").target("blog", "b", "blue")
	_, runs := p.last()
	runs.Fills[0].State.WriteErr = errors.New("forbidden")
	p.target("shop", "c", "green").target("shop", "d", "blue", "green").target("shop", "e", "blue")
	plan, _ := p.last()
	plan.Uses[0].State, plan.Uses[0].Message, plan.Uses[0].Until = assign.Leaving, "its binding is gone", p.Now.Add(time.Minute)
	p.Snapshot.Plan.Refusals = []assign.Refusal{{Key: assign.Key{Namespace: "shop", Service: "greedy"}, Pool: "secret", Reason: "PoolNotAllowed", Message: "namespace shop may not use a pool secret"}}
	p.Snapshot.Plan.Notices = []assign.Notice{{Key: assign.Key{Namespace: "shop", Service: "odd"}, Reason: "UnknownAnnotation", Message: "did you mean pool?"}}
	p.Snapshot.Services = []assign.Service{{Key: assign.Key{Namespace: "shop", Service: "odd"}}}
	return p
}

func TestContract48TheListIsAsGoodAsTheDocuments(t *testing.T) {
	t.Parallel()
	p := various(t)
	list := p.Services(report.Query{})
	want := "shop/c FailOpen, blog/b Failing, shop/greedy Refused, shop/d Degraded, shop/e Degraded, blog/a Healthy"
	if got := names(list); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, s := range list.Services {
		if s.Condition == report.Refused {
			continue
		}
		d := p.one(s.Namespace, s.Service)
		if d.Condition != s.Condition || d.Summary != s.Summary || d.Stages.Ready != s.ReadyEndpoints || len(d.Pools) != len(s.Pools) {
			t.Errorf("%s/%s: the list says %s, %q, %d ready, the document %s, %q, %d ready", s.Namespace, s.Service, s.Condition, s.Summary, s.ReadyEndpoints, d.Condition, d.Summary, d.Stages.Ready)
		}
	}
	if got, want := list.Summary, "1 of 6 Services healthy: 1 FailOpen, 1 Failing, 1 Refused, 2 Degraded"; got != want || list.Condition != report.FailOpen || list.Healthy {
		t.Errorf("got %q, %s, want %q, FailOpen", got, list.Condition, want)
	}
	if list.Pools[1].Condition != report.FailOpen || list.Pools[1].Groups[0].HealthCheck != "HTTP port 8080 /ready" || list.Pools[0].Services != 4 || list.Pools[0].Stages.Ready != 3 {
		t.Errorf("got pools %+v", list.Pools)
	}
}

func TestTheListIsNarrowedAndHasPages(t *testing.T) {
	t.Parallel()
	p := various(t)
	for name, test := range map[string]struct {
		query report.Query
		want  string
		total int
	}{
		"namespace": {report.Query{Namespace: "blog"}, "blog/b Failing, blog/a Healthy", 2},
		"pool":      {report.Query{Pool: "green"}, "shop/c FailOpen, shop/d Degraded", 2},
		"refused":   {report.Query{Pool: "secret"}, "shop/greedy Refused", 1},
		"condition": {report.Query{Condition: report.Degraded}, "shop/d Degraded, shop/e Degraded", 2},
		"unhealthy": {report.Query{Namespace: "blog", Condition: report.Unhealthy}, "blog/b Failing", 1},
		"a page":    {report.Query{Limit: 2, Offset: 1}, "blog/b Failing, shop/greedy Refused", 6},
		"too far":   {report.Query{Offset: 100}, "", 6},
	} {
		got := p.Services(test.query)
		if names(got) != test.want || got.Total != test.total || got.Known != 6 || got.Condition != report.FailOpen {
			t.Errorf("%s: got %s; %d of %d, %s, want %s; %d of 6, FailOpen", name, names(got), got.Total, got.Known, got.Condition, test.want, test.total)
		}
	}
	if got := p.Services(report.Query{Namespace: "blog", Condition: report.Healthy}).Conditions; !slices.Equal(got, []report.ConditionCount{{Condition: report.Failing, Services: 1}, {Condition: report.Healthy, Services: 1}}) {
		t.Errorf("got the conditions %v, want those of the namespace", got)
	}
}

// Contract 50: failing open counts over the whole target.
func TestContract48APoolThatFailsOpenIsShownAsTheTargetPublishesIt(t *testing.T) {
	t.Parallel()
	p := various(t)
	d := p.one("shop", "d")
	states := map[string]int{}
	for _, n := range d.Nodes {
		states[n.Pool+" "+n.State+" "+n.Reason]++
	}
	if diff := cmp.Diff(map[string]int{"blue ready Ready": 3, "green down ProbeRefused": 3}, states); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if d.Mode != "Publish" || d.Pools[1].Mode != "Publish" || !strings.Contains(d.Pools[1].Message, "another pool") || d.Stages.Ready != 3 || d.Stages.Down != 3 {
		t.Errorf("got mode %s, stages %+v, pools %+v", d.Mode, d.Stages, d.Pools)
	}
	if alone := p.one("shop", "c"); alone.Mode != "FailOpen" || alone.Stages.Ready != 3 || alone.Pools[0].Name != "green" || alone.Nodes[0].Pool != "" {
		t.Errorf("got %s, %+v, want the target of that pool alone to fail open", alone.Mode, alone.Stages)
	}
}

func TestContract48AnEndpointIsShownAsTheTargetPublishesIt(t *testing.T) {
	t.Parallel()
	started := func() *report.Status { // what was published before a restart, and not checked since
		s := *good(t)
		s.Verdict = guard.Decide(guard.Input{Now: s.At, Memory: guard.Recover(s.Verdict.Members, s.At, nil, nil)}, guard.Policy{Rise: 1, Fall: 1, Interval: time.Second, FailOpen: true})
		s.Health, s.Findings = inventory.Health{}, explain.Findings(nil, nil, s.Verdict, s.At, s.At)
		return &s
	}
	fresh := func() *report.Status { // fails since it is there
		w := newWorld(3)
		w.refuses = func(netip.Addr) bool { return true }
		return w.assess(t)
	}
	leaving := func() *report.Status { // one that leaves passes, the others fail
		w := newWorld(3).publish()
		w.nodes[0].Leaving, w.refuses = true, func(a netip.Addr) bool { return a != ip(0) }
		return w.assess(t)
	}
	for name, test := range map[string]struct {
		status *report.Status
		pools  []string
		slices []inventory.Member
		want   string
		says   string
	}{
		"alone after a restart": {
			started(), []string{"green"}, []inventory.Member{{Address: ip(0), State: inventory.StateReady}, {Address: ip(1), State: inventory.StateDown}},
			"ready down absent", "not published, as by this Service before the program started",
		},
		"never published":  {fresh(), []string{"green", "blue"}, nil, "absent absent absent", "not published, because endpoints of another pool"},
		"one that leaves":  {leaving(), []string{"green", "blue"}, nil, "down down draining", "drains, because endpoints of another pool"},
		"it leaves, alone": {leaving(), []string{"green"}, nil, "down down ready", "drains when one that stays"},
	} {
		p := newPlatform(t).pool("blue", good(t)).pool("green", test.status).target("shop", "web", test.pools...)
		_, runs := p.last()
		if test.slices != nil {
			of := &runs.Fills[0]
			of.State.State.Slices = nil
			of.State.State.Slices, _ = publish.Desired(test.slices, of.State.State, of.Target)
		}
		d := p.one("shop", "web")
		var states, messages []string
		for _, n := range d.Nodes {
			if n.Pool != "blue" {
				states, messages = append(states, n.State), append(messages, n.Message)
			}
		}
		if name != "alone after a restart" {
			slices.Sort(states)
		}
		if got := strings.Join(states, " "); got != test.want || !strings.Contains(strings.Join(messages, "\n"), test.says) {
			t.Errorf("%s: got %s, want %s and %q in\n%s", name, got, test.want, test.says, strings.Join(messages, "\n"))
		}
	}
}

func TestContract48AServiceThatIsNoTargetLearnsWhyAndNoMore(t *testing.T) {
	t.Parallel()
	p := various(t)
	for service, want := range map[string]string{
		"greedy": "no endpoint is published for Service shop/greedy: namespace shop may not use a pool secret",
		"odd":    "Service shop/odd asks for no pool: write an EndpointBinding of its name, or set the annotation endpoints.ablmnzde.github.io/pool of the Service. did you mean pool?",
		"ghost":  "Service shop/ghost is not known: no EndpointBinding has its name, and there is no such Service in the namespaces that pools and bindings name",
	} {
		_, err := p.Service("shop", service)
		if none := (*report.NoService)(nil); !errors.As(err, &none) || none.Message != want {
			t.Errorf("%s: got %v, want %s", service, err, want)
		}
	}
	standby := report.Process{Now: p.Now, Snapshot: &controller.Snapshot{}, Election: report.Election{Enabled: true, Holder: "pod-1"}}
	if d, err := standby.Service("shop", "ghost"); err != nil || d.Condition != report.StandingBy || d.Service.Name != "ghost" {
		t.Errorf("got %+v, %v, want that a standby does not know", d, err)
	}
	if got := standby.Services(report.Query{}); got.Condition != report.StandingBy || got.Summary != "standing by; pod-1 leads" {
		t.Errorf("got %s, %q", got.Condition, got.Summary)
	}
}

func TestTheWholeSaysWhatIsWrongWithDocuments(t *testing.T) {
	t.Parallel()
	p := newPlatform(t).pool("blue", good(t)).target("shop", "a", "blue")
	if got := p.Services(report.Query{}); got.Condition != report.Healthy || got.Summary != "1 of 1 Services healthy" {
		t.Fatalf("got %s, %q", got.Condition, got.Summary)
	}
	p.Snapshot.Documents.Mistakes = []documents.Mistake{{File: "a.yaml", Line: 3, Document: "EndpointPool blue", Field: "spec.subnetz", Rule: "is not known", Remedy: "write spec.subnets"}}
	got := p.Services(report.Query{})
	if want := (report.Mistake{Place: "a.yaml:3", Message: "EndpointPool blue spec.subnetz: is not known; write spec.subnets"}); got.Condition != report.Degraded || got.Documents.Mistakes[0] != want {
		t.Errorf("got %s, %+v, want Degraded and %+v", got.Condition, got.Documents.Mistakes, want)
	}
	p.Snapshot.Plan.Kept = "2 of 3 Services lost their binding"
	if got := p.Services(report.Query{}); got.Condition != report.Hold || !strings.HasPrefix(got.Summary, "Holding: ") {
		t.Errorf("got %s, %q, want Hold", got.Condition, got.Summary)
	}
	p.Snapshot.Pools[0].Problem = "no file token"
	if got := p.Services(report.Query{}).Pools[0]; got.Condition != report.Degraded || got.Problem == "" {
		t.Errorf("got %+v, want the problem of the pool", got)
	}
	if d := p.one("shop", "a"); d.Condition != report.Degraded || !strings.Contains(strings.Join(d.Source.Warnings, ""), "no file token") {
		t.Errorf("got %s, %v, want the problem of the pool", d.Condition, d.Source.Warnings)
	}
}

func TestContract48ExplainSaysOfEveryTargetWhatItKnows(t *testing.T) {
	t.Parallel()
	p := various(t)
	got := p.Explain(ip(1).String(), report.Query{})
	var all []string
	for _, target := range got.Services {
		for _, n := range target.Nodes {
			all = append(all, fmt.Sprintf("%s/%s %s %s %s", target.Namespace, target.Service, n.Pool, n.State, n.Reason))
		}
	}
	want := []string{
		"shop/d blue ready Ready", "shop/d green down ProbeRefused", "blog/a blue ready Ready", "blog/b blue ready Ready", "shop/c green ready ReadyFailOpen", "shop/e blue ready Ready",
	}
	if diff := cmp.Diff(want, all); diff != "" || got.Known != 5 || got.Total != 5 {
		t.Errorf("%d of %d (-want +got):\n%s", got.Total, got.Known, diff)
	}
	if got := p.Explain("nodepool-frankfurt-worker-1", report.Query{Namespace: "blog", Limit: 1}); got.Known != 2 || got.Total != 2 || len(got.Services) != 1 {
		t.Errorf("got %d of %d, %d shown", got.Total, got.Known, len(got.Services))
	}
	if got := p.Explain("nobody", report.Query{}); got.Known != 5 || got.Total != 0 || got.Services == nil {
		t.Errorf("got %+v, want nothing", got)
	}
}

// What many targets share is summed up once: the list costs the same however many
// endpoints each of them has.
func TestContract71TheListDoesNotCopyTheEndpointsOfAllTargets(t *testing.T) {
	const targets = 500
	cost := func(endpoints int) uint64 {
		p := newPlatform(t).pool("blue", newWorld(endpoints).publish().assess(t)).pool("green", failing(t))
		for i := range targets {
			p.target("shop", fmt.Sprintf("s%04d", i), "green", "blue")
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p.Services(report.Query{})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := cost(5), cost(100)
	if copied := float64(many) - float64(few); copied > targets*500 {
		t.Errorf("%d targets: the list takes %.0f bytes more for each with 100 endpoints than with 5: it copies them", targets, copied/targets)
	}
}

// ofVariables is a platform whose only Service variables describe.
func ofVariables(t testing.TB, status *report.Status) *platform {
	t.Helper()
	p := newPlatform(t).pool("remote", status).target("default", "web", "remote")
	p.Only, p.Snapshot.Documents.Variables = assign.Key{Namespace: "default", Service: "web"}, true
	planned, runs := p.last()
	planned.Uses[0].By, planned.Uses[0].CheckBy, runs.Fills[0].Target.Pool = naming.Environment, naming.Environment, ""
	return p
}

func TestContract48VariablesAreOnePoolAndOneService(t *testing.T) {
	t.Parallel()
	w := newWorld(3).publish()
	w.refuses = func(a netip.Addr) bool { return a == ip(1) }
	p := ofVariables(t, w.assess(t))
	got := p.Services(report.Query{})
	if names(got) != "default/web Degraded" || got.Services[0].ReadyEndpoints != 2 || got.Services[0].Endpoints != 3 || got.Pools[0].Name != "remote" || got.Pools[0].Condition != report.Degraded || got.Documents != nil {
		t.Errorf("got %s, %+v", names(got), got)
	}
	d := p.one("default", "web")
	if !d.OfVariables() || d.Pools[0].Name != "remote" || d.DecidedBy != nil || d.Service.Slices[0] != "web.remote" || d.Nodes[1].State != "down" || !strings.Contains(d.Nodes[1].Message, "HEALTH_CHECK_FALL=1") {
		t.Errorf("got %+v", d)
	}
	if _, err := p.Service("default", "other"); err == nil || err.Error() != "this is the daemon of default/web, not of default/other" {
		t.Errorf("got %v, want what is filled", err)
	}
	if got := p.Explain(ip(1).String(), report.Query{}); got.Total != 1 || got.Services[0].Nodes[0].State != "down" {
		t.Errorf("got %+v", got)
	}
}

// Contract 230: nothing is decided before the slices were read, so what keeps them from being
// read is all that there is to show.
func TestContract230WhySlicesCannotBeReadIsKnownBeforeTheFirstPlan(t *testing.T) {
	t.Parallel()
	p := ofVariables(t, good(t))
	p.Snapshot = &controller.Snapshot{Unread: errors.New("403 Forbidden")}
	d := p.one("default", "web")
	if d.Condition != report.Failing || d.Store.LoadError != "403 Forbidden" || d.Decided {
		t.Errorf("got %s, %+v, want that the slices cannot be read", d.Condition, d.Store)
	}
	if got := p.Services(report.Query{}); names(got) != "default/web Failing" || got.Condition != report.Starting {
		t.Errorf("got %s, %s, want the Service in the list", got.Condition, names(got))
	}
	p.Leader, p.Election.Enabled = false, true
	if got := p.Services(report.Query{}); names(got) != "" || got.Condition != report.StandingBy {
		t.Errorf("a standby: got %s, %s, want no Service", got.Condition, names(got))
	}
}

// Contract 229: the first page is that of the only Service, where nothing else has to be shown.
func TestContract229TheFirstPageIsThatOfTheOnlyService(t *testing.T) {
	t.Parallel()
	web := assign.Key{Namespace: "shop", Service: "web"}
	for name, test := range map[string]struct {
		change func(*platform)
		want   assign.Key
	}{
		"one": {func(*platform) {}, web},
		"of variables": {func(p *platform) {
			p.Only, p.Snapshot = assign.Key{Namespace: "a", Service: "b"}, &controller.Snapshot{}
		}, assign.Key{Namespace: "a", Service: "b"}},
		"its own refusal": {func(p *platform) { p.Snapshot.Plan.Refusals = []assign.Refusal{{Key: web}} }, web},
		"two":             {func(p *platform) { p.target("shop", "z", "blue") }, assign.Key{}},
		"another's refusal": {func(p *platform) {
			p.Snapshot.Plan.Refusals = []assign.Refusal{{Key: assign.Key{Namespace: "shop", Service: "z"}}}
		}, assign.Key{}},
		"a mistake":     {func(p *platform) { p.Snapshot.Documents.Mistakes = []documents.Mistake{{File: "a"}} }, assign.Key{}},
		"a lost pool":   {func(p *platform) { p.Snapshot.Plan.Lost = []assign.PublishedSlice{{Key: web}} }, assign.Key{}},
		"kept":          {func(p *platform) { p.Snapshot.Plan.Kept = "many" }, assign.Key{}},
		"nothing known": {func(p *platform) { p.Snapshot = &controller.Snapshot{} }, assign.Key{}},
	} {
		p := newPlatform(t).pool("blue", &report.Status{}).target("shop", "web", "blue")
		if test.change(p); p.Home() != test.want {
			t.Errorf("%s: got %s, want %s", name, p.Home(), test.want)
		}
	}
}

// TestContract71TheListHasABoundedPartOfWhatTeamsMakeWrong: what one namespace does hides nothing of others.
func TestContract71TheListHasABoundedPartOfWhatTeamsMakeWrong(t *testing.T) {
	t.Parallel()
	p := newPlatform(t).pool("blue", good(t)).target("shop", "a", "blue")
	add := func(namespace, service string) {
		p.Snapshot.Documents.Mistakes = append(p.Snapshot.Documents.Mistakes, documents.Mistake{File: documents.APIServer, Document: "EndpointBinding " + namespace + "/" + service, Rule: "is wrong", Remedy: "correct it"})
		p.Snapshot.Plan.Lost = append(p.Snapshot.Plan.Lost, assign.PublishedSlice{Key: assign.Key{Namespace: namespace, Service: service}, Pool: "gone", Slice: service + ".gone", Endpoints: 1})
	}
	for i := range 1200 {
		add("evil", fmt.Sprintf("web-%04d", i))
	}
	add("shop", "b")
	got := p.Services(report.Query{})
	mistakes, lost := got.Documents.Mistakes, got.ServicesWithoutPool
	if len(mistakes) != 1002 || len(lost) != 1001 || lost[1000].Namespace != "shop" || !strings.HasPrefix(mistakes[1000].Message, "EndpointBinding shop/b") || !strings.HasPrefix(mistakes[1001].Message, "200 more mistakes") {
		t.Errorf("got %d mistakes and %d Services without a pool, the last ones %+v and %+v", len(mistakes), len(lost), mistakes[len(mistakes)-1], lost[len(lost)-1])
	}
	for i := range 20_000 {
		add(fmt.Sprintf("team-%04d", i/10), fmt.Sprintf("web-%d", i%10))
	}
	if got := p.Services(report.Query{}); len(got.Documents.Mistakes) != 5001 || len(got.ServicesWithoutPool) != 5000 {
		t.Errorf("got %d mistakes and %d Services without a pool", len(got.Documents.Mistakes), len(got.ServicesWithoutPool))
	}
}
