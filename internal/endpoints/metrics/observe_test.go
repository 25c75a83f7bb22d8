package metrics_test

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	engine "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// crowd is a daemon of documents, as its metrics see it.
type crowd struct {
	t        testing.TB
	metrics  *metrics.Metrics
	registry *prometheus.Registry
	plan     assign.Plan
	// told is the last plan with its documents; the others are what became of its parts.
	told   engine.Snapshot
	pools  map[string]engine.Pool
	groups map[assign.Group]engine.Group
	filled map[assign.Key]engine.ServiceState
}

// snapshot is what the engine would show.
func (c *crowd) snapshot() *engine.Snapshot {
	s := c.told
	for _, p := range s.Plan.Pools {
		seen := c.pools[p.Name]
		seen.Name = p.Name
		s.Pools = append(s.Pools, seen)
	}
	for _, g := range s.Plan.Groups() {
		seen := c.groups[g]
		seen.Group = g
		s.Groups = append(s.Groups, seen)
	}
	for _, t := range s.Plan.Targets {
		s.Targets = append(s.Targets, c.filled[t.Key])
	}
	return &s
}

// ofGroup is what a group does with its outcomes.
func (c *crowd) ofGroup(g assign.Group) func(pool.Outcome, explain.Pool) {
	count := c.metrics.OfGroup(g)
	return func(o pool.Outcome, memory explain.Pool) {
		count(o, memory)
		seen := c.groups[g]
		seen.State = &engine.GroupState{Outcome: o}
		c.groups[g] = seen
	}
}

// fill gives a target its slices.
func (c *crowd) fill(key assign.Key, f engine.FillState) {
	c.filled[key] = engine.ServiceState{Fills: []engine.Fill{{State: &f}}}
}

// problem is why something does not run, empty for nil.
func problem(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func newCrowd(t testing.TB, pools ...string) *crowd {
	t.Helper()
	c := &crowd{t: t, pools: map[string]engine.Pool{}, groups: map[assign.Group]engine.Group{}, filled: map[assign.Key]engine.ServiceState{}, registry: prometheus.NewPedanticRegistry()}
	var err error
	if c.metrics, err = metrics.New(metrics.Options{Registry: c.registry, Snapshot: c.snapshot}); err != nil {
		t.Fatal(err)
	}
	for _, name := range pools {
		c.plan.Pools = append(c.plan.Pools, v1alpha1.EndpointPool{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return c
}

// group is a pool whose endpoints are checked on a port.
func group(pool string, port uint16) assign.Group {
	return assign.Group{Pool: pool, Check: assign.Check{Mode: v1alpha1.HealthCheckTCP, Port: port}}
}

// use is what a target takes from a group.
func use(g assign.Group, state assign.State) assign.PoolUse {
	return assign.PoolUse{Use: assign.Use{Group: g}, State: state}
}

// fills adds a target to the plan.
func (c *crowd) fills(service string, uses ...assign.PoolUse) assign.Key {
	namespace, name, _ := strings.Cut(service, "/")
	key := assign.Key{Namespace: namespace, Service: name}
	c.plan.Targets = append(c.plan.Targets, assign.Assignment{Key: key, Uses: uses})
	return key
}

// planned tells the plan as it is now.
func (c *crowd) planned(set documents.Set) {
	c.told = engine.Snapshot{Plan: c.plan, Documents: set}
	c.metrics.Planned(set, &c.told.Plan)
}

func (c *crowd) gather() map[string]float64 {
	c.t.Helper()
	return gather(c.t, c.registry)
}

// members are as many endpoints in each state as asked for.
func members(ready, down int) []inventory.Member {
	var all []inventory.Member
	for i := range ready + down {
		state := inventory.StateReady
		if i >= ready {
			state = inventory.StateDown
		}
		all = append(all, inventory.Member{Address: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), State: state})
	}
	return all
}

// written is a target whose slices hold these endpoints.
func written(ready, down int) engine.FillState {
	return engine.FillState{State: publish.State{Slices: []publish.Slice{{Name: "web.blue", Endpoints: members(ready, down)}}}}
}

func TestContract73PoolsAndTargetsHaveMetrics(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, "blue", "green")
		first, second := group("blue", 80), group("blue", 81)
		web := c.fills("shop/web", use(first, assign.Active))
		blog := c.fills("blog/web", use(second, assign.Leaving))
		c.plan.Refusals = []assign.Refusal{{Key: assign.Key{Namespace: "evil", Service: "x"}, Pool: "green", Reason: v1alpha1.ReasonPoolNotAllowed}}
		c.plan.Lost = []assign.PublishedSlice{{}}
		c.ofGroup(first)(pool.Outcome{
			Verdict:  &guard.Verdict{Mode: guard.Hold, Members: members(3, 1), Unchecked: 1, Elsewhere: 2, Removal: guard.Removal{Endpoints: 2, Inventories: 4}},
			Overruns: 5, Refused: 2, Held: pool.HoldCounts{HolderStats: health.HolderStats{Wanted: 4, Held: 3, Alarms: [4]uint64{0, 1, 0, 2}, Ignored: 1}, Confirmed: 2},
			Source: pool.SourceStatus{Decisions: []inventory.Decision{{Reason: inventory.OutsideSubnet}, {}}},
			Placed: pool.PlacementStatus{Newest: &inventory.Placement{Ready: []string{"a", "b"}}, LastSuccess: time.Now(), LastErr: errOutage},
		}, explain.Pool{Moves: [4]uint64{1, 2, 0, 3}, Accepted: 7})
		c.ofGroup(second)(pool.Outcome{Verdict: &guard.Verdict{Members: members(2, 0)}, Trouble: &pool.Trouble{}}, explain.Pool{})
		c.metrics.Read("blue", pool.Attempt{At: time.Now(), Nodes: make([]inventory.Node, 5)})
		c.metrics.Read("blue", pool.Attempt{At: time.Now(), Err: errOutage})
		c.groups[second] = engine.Group{Problem: problem(errOutage), State: c.groups[second].State}
		c.pools["blue"] = engine.Pool{Warnings: []string{"odd"}}
		c.metrics.Reaches("blue", metrics.Access{
			RateLimit: func() (int, bool) { return 9, true },
			Credentials: map[string]func() metrics.Credential{
				metrics.Token: func() metrics.Credential { return metrics.Credential{Expires: time.Unix(1893456000, 0)} },
				metrics.Kubeconfig: func() metrics.Credential {
					return metrics.Credential{Expires: time.Unix(1893456001, 0), Lifetime: time.Hour}
				},
			},
		})
		c.metrics.Prober("blue", &part{result: inventory.Result{Outcome: inventory.Silent}}).Check(t.Context(), netip.Addr{})
		c.fill(web, written(3, 1))
		c.fill(blog, engine.FillState{Defect: &writer.Defect{}, WriteErr: errOutage, LoadErr: errOutage, State: publish.State{Stale: errOutage}, Pending: 2, PendingSince: time.Now()})
		c.planned(documents.Set{Generation: 3, Complete: true})
		time.Sleep(time.Minute)
		want(t, c.gather(), map[string]float64{
			`assignments_total`: 1, `documents_generation`: 3, `document_mistakes`: 0, `services_without_pool`: 1, `documents_last_good_timestamp_seconds`: float64(time.Now().Unix() - 60),
			`services{state="active"}`: 1, `services{state="leaving"}`: 1, `services_unlisted`: 0, `services_with_problem{kind="PoolNotAllowed"}`: 1,
			`pool_services{pool="blue"}`: 2, `pool_services{pool="green"}`: 0, `nodes{pool="blue"}`: 5,
			`source_reads_total{pool="blue",result="success"}`: 1, `source_reads_total{pool="blue",result="error"}`: 1,
			`source_last_read_success_timestamp_seconds{pool="blue"}`: float64(time.Now().Unix() - 60),
			`health_check_groups{mode="Hold",pool="blue"}`:            1, `health_check_groups{mode="Publish",pool="blue"}`: 1, `health_check_groups{mode="FailOpen",pool="blue"}`: 0,
			`endpoints{pool="blue",state="ready"}`: 5, `endpoints{pool="blue",state="down"}`: 1, `endpoints_unchecked{pool="blue"}`: 3,
			`removals_pending{pool="blue"}`: 2, `removals_pending_inventories{pool="blue"}`: 4, `removals_accepted_total{pool="blue"}`: 7,
			`endpoint_changes_total{pool="blue",state="down"}`: 3, `health_check_round_overruns_total{pool="blue"}`: 5, `rejected_inventories{pool="blue"}`: 0,
			`connections_held{pool="blue"}`: 3, `connections_wanted{pool="blue"}`: 4, `connections_lost_confirmed_total{pool="blue"}`: 2,
			`pool_problem{kind="Source",pool="blue"}`: 0, `pool_problem{kind="HealthCheck",pool="blue"}`: 1, `pool_problem{kind="Decision",pool="blue"}`: 1,
			`placed_nodes{pool="blue"}`: 2, `placement_problem{kind="PlacementUnavailable",pool="blue"}`: 1, `placement_problem{kind="PlacementRejected",pool="blue"}`: 0,
			`endpoints_reached_elsewhere{pool="blue"}`: 2,
			`source_warnings{pool="blue"}`:             1, `source_rate_limit_remaining{pool="blue"}`: 9, `not_eligible{pool="blue",reason="OutsideSubnet"}`: 1,
			`credential_expiry_timestamp_seconds{credential="token",pool="blue"}`: 1893456000, `credential_expiry_timestamp_seconds{credential="kubeconfig",pool="blue"}`: 1893456001,
			`credential_lifetime_seconds{credential="token",pool="blue"}`: math.Inf(1), `credential_lifetime_seconds{credential="kubeconfig",pool="blue"}`: 3600,
			`health_checks_total{outcome="Silent",pool="blue"}`:                     1,
			`service_ready_endpoints{target_namespace="shop",target_service="web"}`: 3,
			`service_endpoints{target_namespace="shop",target_service="web"}`:       4,
			`service_pending_slices{target_namespace="blog",target_service="web"}`:  2,
		})
		wantProblems(t, c.gather(), map[string]string{
			"blog/web": "Defect NoEndpointReady Pending Releasing StoreStale StoreUnavailable WriteFailed", "evil/x": "PoolNotAllowed",
		})
		wantNoLint(t, c.registry)
	})
}

// wantProblems compares the problems of all targets, sorted.
func wantProblems(t *testing.T, got map[string]float64, wanted map[string]string) {
	t.Helper()
	found := make(map[string]string)
	for _, name := range slices.Sorted(slices.Values(metrics.Problems())) {
		for key := range wanted {
			namespace, service, _ := strings.Cut(key, "/")
			if got[fmt.Sprintf("ionos_endpointslice_service_problem{kind=%q,target_namespace=%q,target_service=%q}", name, namespace, service)] == 1 {
				found[key] = strings.TrimSpace(found[key] + " " + name)
			}
		}
	}
	for key, want := range wanted {
		if found[key] != want {
			t.Errorf("%s: got problems %q, want %q", key, found[key], want)
		}
	}
	if series := countOf(got, "service_problem{"); series != len(strings.Fields(strings.Join(values(wanted), " "))) {
		t.Errorf("got %d problems in all, want those of %v", series, wanted)
	}
}

func values(of map[string]string) []string {
	var all []string
	for _, v := range of {
		all = append(all, v)
	}
	return all
}

// countOf counts the series whose name begins so.
func countOf(got map[string]float64, name string) int {
	n := 0
	for series := range got {
		if strings.HasPrefix(series, "ionos_endpointslice_"+name) {
			n++
		}
	}
	return n
}

// Contract 73: the number of series is bounded, and what is wrong is shown first.
func TestContract73SeriesOfTargetsAreBounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ targets, broken, shown int }{
		{1000, 0, 1000}, {1000, 1000, 1000}, {1001, 0, 0}, {1001, 7, 7}, {2000, 1999, 1000},
	} {
		c := newCrowd(t, "blue")
		g := group("blue", 80)
		for i := range test.targets {
			key := c.fills(fmt.Sprintf("team-%d/web-%d", i%10, i), use(g, assign.Active))
			o := written(1, 1)
			if i < test.broken {
				o.WriteErr = errOutage
			}
			c.fill(key, o)
		}
		c.planned(documents.Set{})
		got := c.gather()
		if shown := countOf(got, "service_ready_endpoints{"); shown != test.shown {
			t.Errorf("%+v: got series of %d targets", test, shown)
		}
		want(t, got, map[string]float64{
			"services_unlisted": float64(test.targets - test.shown), `services{state="active"}`: float64(test.targets),
			`services_with_problem{kind="WriteFailed"}`: float64(test.broken),
		})
		if all := countOf(got, ""); all > 400+4*test.shown {
			t.Errorf("%+v: got %d series in all", test, all)
		}
	}
}

// Contract 73: what counts goes on where a group ends, and what no plan has is forgotten.
func TestContract73ACounterOutlivesItsGroup(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, "blue")
	one, two := group("blue", 80), group("blue", 81)
	c.fill(c.fills("shop/web", use(one, assign.Active)), written(1, 0))
	c.filled[c.fills("shop/api", use(two, assign.Active))] = engine.ServiceState{Problem: problem(errCrowd)}
	verdict := &guard.Verdict{Members: members(1, 0)}
	first, second := c.ofGroup(one), c.ofGroup(two)
	first(pool.Outcome{Verdict: verdict, Overruns: 10}, explain.Pool{Accepted: 1})
	second(pool.Outcome{Verdict: verdict, Overruns: 5}, explain.Pool{})
	first(pool.Outcome{Verdict: verdict, Overruns: 12}, explain.Pool{Accepted: 1})
	c.planned(documents.Set{})
	want(t, c.gather(), map[string]float64{`health_check_round_overruns_total{pool="blue"}`: 17, `removals_accepted_total{pool="blue"}`: 1, `endpoints{pool="blue",state="ready"}`: 2})

	c.plan.Targets = c.plan.Targets[1:]
	c.planned(documents.Set{})
	want(t, c.gather(), map[string]float64{`health_check_round_overruns_total{pool="blue"}`: 17, `endpoints{pool="blue",state="ready"}`: 1})

	c.plan.Targets = nil
	c.planned(documents.Set{})
	got := c.gather()
	want(t, got, map[string]float64{`pool_services{pool="blue"}`: 0})
	if n := countOf(got, "pool_"); n != 1 {
		t.Errorf("got %d series of a pool that is not used, want 1", n)
	}
	if n := metrics.Remembered(c.metrics); n != 0 {
		t.Errorf("%d pools, groups and targets are remembered, want none", n)
	}
}

func TestATargetFailsOpenOnlyWhereNothingElseWorks(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, "blue", "green")
	blue, green := group("blue", 80), group("green", 80)
	failing := decide(t, inventory.Refused)
	working := decide(t, inventory.Pass)
	c.ofGroup(blue)(pool.Outcome{Verdict: &failing}, explain.Pool{})
	c.ofGroup(green)(pool.Outcome{Verdict: &working}, explain.Pool{})
	for name, uses := range map[string][]assign.PoolUse{
		"shop/alone": {use(blue, assign.Active)}, "shop/both": {use(blue, assign.Active), use(green, assign.Active)},
		"shop/other": {use(green, assign.Active), use(blue, assign.Active)}, "shop/emptied": {use(blue, assign.Active), use(green, assign.Emptied)},
	} {
		c.fill(c.fills(name, uses...), written(1, 0))
	}
	c.fill(c.fills("shop/dry", use(blue, assign.Active)), written(0, 0))
	c.plan.Targets[len(c.plan.Targets)-1].DryRun = true
	c.planned(documents.Set{})
	wantProblems(t, c.gather(), map[string]string{"shop/alone": "FailOpen", "shop/both": "", "shop/other": "", "shop/emptied": "FailOpen", "shop/dry": ""})
}

// decide returns what the guard decides about one endpoint after many such checks.
func decide(t *testing.T, outcome inventory.Outcome) guard.Verdict {
	t.Helper()
	addr := netip.MustParseAddr("10.0.0.1")
	policy := guard.Policy{Rise: 2, Fall: 3, Interval: time.Second, MaxSilentPercent: 50, FailOpen: true, Threshold: 10, PollInterval: time.Minute, MaxRemovalPercent: 50}
	now := time.Unix(1e9, 0)
	read := &guard.Inventory{Nodes: 1, Candidates: []inventory.Candidate{{Node: inventory.Identity{Name: "a"}, Address: addr}}, Scheduled: true}
	v := guard.Decide(guard.Input{Now: now, Read: read, Memory: guard.Recover(members(0, 0), now, nil, nil)}, policy)
	var checks inventory.Health
	for range 9 {
		now = now.Add(time.Second)
		checks = health.Advance(checks, []inventory.Result{{Address: addr, Outcome: outcome, At: now, Reason: inventory.ProbeRefused}})
		v = guard.Decide(guard.Input{Now: now, Health: checks, Memory: v.Memory}, policy)
	}
	if fails := v.Mode == guard.FailOpen; fails != (outcome != inventory.Pass) {
		t.Fatalf("got mode %s of %s", v.Mode, outcome)
	}
	return v
}

// Contract 73: a loop that tells what happened does not wait for a scrape.
func TestContract73AScrapeMakesNoLoopWait(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, "blue")
	g := group("blue", 80)
	ofGroup := c.metrics.OfGroup(g)
	prober := c.metrics.Prober("blue", &part{result: inventory.Result{Outcome: inventory.Pass}})
	tell := func() {
		ofGroup(pool.Outcome{Verdict: &guard.Verdict{}}, explain.Pool{})
		prober.Check(t.Context(), netip.Addr{})
	}
	told := make(chan struct{})
	metrics.Locked(c.metrics, func() {
		go func() { defer close(told); tell() }()
		select {
		case <-told:
		case <-time.After(time.Minute):
			t.Error("an outcome waits")
		}
	})
	<-told
}

func TestWhatIsWrongWithDocumentsIsCounted(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	poolKey := func(name string) documents.Key { return documents.Key{Kind: v1alpha1.KindEndpointPool, Name: name} }
	c.planned(documents.Set{
		Generation: 9, Mistakes: make([]documents.Mistake, 2),
		Entries: []documents.Entry{
			{Key: documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: "a", Name: "b"}, Binding: &v1alpha1.EndpointBinding{}},
			{Key: poolKey("kept"), Pool: &v1alpha1.EndpointPool{}, Kept: true}, {Key: poolKey("unusable")},
		},
	})
	want(t, c.gather(), map[string]float64{
		`document_mistakes`: 2, `documents{kind="EndpointPool",state="kept"}`: 1, `documents{kind="EndpointPool",state="unusable"}`: 1,
		`documents{kind="EndpointPool",state="current"}`: 0, `documents{kind="EndpointBinding",state="current"}`: 1, `documents_last_good_timestamp_seconds`: 0,
	})
}

var errCrowd = errors.New("no file kubeconfig")

func TestWhatCannotBeginIsAProblemUntilItDoes(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, "blue")
	key := c.fills("shop/web", use(group("blue", 80), assign.Active))
	for _, err := range []error{errCrowd, nil} {
		c.pools["blue"], c.filled[key] = engine.Pool{Problem: problem(err)}, engine.ServiceState{Problem: problem(err)}
		c.planned(documents.Set{})
		holds := 0.0
		if err != nil {
			holds = 1
		}
		want(t, c.gather(), map[string]float64{`pool_problem{kind="Source",pool="blue"}`: holds, `services_with_problem{kind="NotFilled"}`: holds})
	}
}

// Contract 73: a team with many problems takes no series of others.
func TestContract73NamespacesTakeTurnsWithSeries(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, "blue")
	g := group("blue", 80)
	for _, name := range append(make([]string, 1500), "shop/web", "shop/api") {
		if name == "" {
			name = fmt.Sprintf("evil/web-%d", len(c.filled))
		}
		o := written(1, 1)
		o.WriteErr = errOutage
		c.fill(c.fills(name, use(g, assign.Active)), o)
	}
	c.planned(documents.Set{})
	want(t, c.gather(), map[string]float64{
		`service_ready_endpoints{target_namespace="shop",target_service="web"}`: 1, `service_ready_endpoints{target_namespace="shop",target_service="api"}`: 1,
		"services_unlisted": 502,
	})
}
