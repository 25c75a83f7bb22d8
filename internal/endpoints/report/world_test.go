package report_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// world is a scripted source, network and API server.
type world struct {
	nodes   []inventory.Node
	state   publish.State
	refuses func(netip.Addr) bool
}

// target is the Service of every world.
var target = publish.Target{
	Namespace: "default", Service: "web", SliceName: "web-remote", ManagedBy: "tester", MaxEndpoints: 1000,
	Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}},
}

// newWorld has so many ready nodes, and a Service that fits.
func newWorld(size int) *world {
	w := &world{refuses: func(netip.Addr) bool { return false }}
	w.state.Service = publish.Service{UID: "uid-1", Ports: []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80}}}
	for i := range size {
		w.nodes = append(w.nodes, inventory.Node{
			ID: fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", i), Name: fmt.Sprintf("nodepool-frankfurt-worker-%d", i),
			Addresses: []netip.Addr{ip(i)}, Zone: "de-fra-1", Ready: true, Worker: true,
		})
	}
	return w
}

// ip is the address of a node.
func ip(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 100, byte(100 + i/250), byte(1 + i%250)})
}

// publish makes slices that hold the nodes' addresses, ready.
func (w *world) publish() *world {
	all := make([]int, len(w.nodes))
	for i := range all {
		all[i] = i
	}
	return w.publishOnly(all...)
}

// publishOnly makes slices that hold these nodes' addresses, ready.
func (w *world) publishOnly(nodes ...int) *world {
	members := make([]inventory.Member, len(nodes))
	for i, n := range nodes {
		members[i] = inventory.Member{Address: ip(n), State: inventory.StateReady, Zone: "de-fra-1"}
	}
	w.state.Slices = nil
	w.state.Slices, _ = publish.Desired(members, w.state, target)
	return w
}

func (w *world) Read(context.Context) ([]inventory.Node, error) { return w.nodes, nil }

func (w *world) Load(context.Context) (publish.State, error) { return w.state, nil }

func (w *world) Write(context.Context, publish.Write) (string, error) { return "", nil }

func (w *world) Check(_ context.Context, addr netip.Addr) inventory.Result {
	r := inventory.Result{Address: addr, At: time.Now(), Latency: 1234567 * time.Nanosecond, Outcome: inventory.Pass, Reason: inventory.Ready, Message: addr.String() + ":8080 accepted the connection"}
	if w.refuses(addr) {
		r.Outcome, r.Reason, r.Message = inventory.Refused, inventory.ProbeRefused, "connection refused by "+addr.String()+":8080"
	}
	return r
}

// assess is what the daemon makes of the world in one look.
func (w *world) assess(t testing.TB) *report.Status {
	t.Helper()
	s, err := controllertest.New(controllertest.Options{
		Source: w, Prober: w, Store: w, Target: target,
		Rules: filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("10.100.0.0/16")}},
		Policy: guard.Policy{
			Rise: 1, Fall: 1, Interval: time.Second, MaxSilentPercent: 50, FailOpen: true,
			Threshold: 10, MaxRemovalPercent: 50, DrainPeriod: 30 * time.Second,
		},
		PollInterval: time.Second, SourceTimeout: time.Minute, HealthTimeout: time.Second, Concurrency: 64, DryRun: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Server().Once(t.Context(), func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	f := a.Assessed[0].Fills[0]
	g := a.GroupOf(f.Use.Group).State
	return &report.Status{
		At: a.At, ModeSince: a.At, State: f.State, Problem: f.Problem, Store: report.StoreStatus{Pending: len(f.Writes)},
		Source: g.Source, Verdict: *g.Verdict, Health: g.Health, Findings: g.Findings(),
	}
}

// document is the world on a leader without election.
func (w *world) document(t testing.TB) *report.Document {
	t.Helper()
	return report.Build(facts(w.assess(t)))
}

func facts(status *report.Status) report.Facts {
	now := time.Now()
	return report.Facts{
		Process: report.Process{Now: now, StoreKind: "client-go", Leader: true, Version: "v1.2.3", Started: now.Add(-time.Hour)},
		Status:  status, Target: target, SourceKind: "file",
	}
}
