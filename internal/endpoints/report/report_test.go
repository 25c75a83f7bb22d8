package report_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

func TestTheHeadlineIsAsGoodAsTheNodes(t *testing.T) {
	t.Parallel()
	refuses := func(octets ...int) func(netip.Addr) bool {
		return func(addr netip.Addr) bool {
			for _, o := range octets {
				if addr == ip(o) {
					return true
				}
			}
			return false
		}
	}
	for name, test := range map[string]struct {
		change  func(*world, *report.Facts)
		summary string
		healthy bool
	}{
		"all ready":          {func(*world, *report.Facts) {}, "3 of 3 nodes ready in default/web", true},
		"one down":           {func(w *world, _ *report.Facts) { w.refuses = refuses(1) }, "2 of 3 nodes ready in default/web", false},
		"nothing passes":     {func(w *world, _ *report.Facts) { w.refuses = refuses(0, 1, 2) }, "Failing open: 0 of 3 nodes pass, 3 of 3 published ready in default/web", false},
		"the source forgets": {func(w *world, _ *report.Facts) { w.nodes = nil }, "Holding: 3 of 3 nodes ready in default/web", false},
		"one is not ready in its cluster": {func(w *world, _ *report.Facts) {
			w.publishOnly(1, 2)
			w.nodes[0].Ready = false
		}, "2 of 3 nodes ready in default/web", false},
		"one that is published drains":                         {func(w *world, _ *report.Facts) { w.nodes = w.nodes[1:] }, "2 of 2 nodes ready in default/web", false},
		"one that leaves is ready because nothing else passes": {func(w *world, _ *report.Facts) { w.nodes[0].Leaving, w.refuses = true, refuses(1, 2) }, "Holding: 1 of 3 nodes ready in default/web", false},
		"one is no worker":                                     {func(w *world, _ *report.Facts) { w.nodes = append(w.nodes, inventory.Node{Name: "control-plane"}) }, "3 of 3 nodes ready in default/web", true},
		"one has the address of another": {func(w *world, _ *report.Facts) {
			w.nodes = append(w.nodes, w.nodes[0])
			w.nodes[3].ID, w.nodes[3].Name = "x", "thief"
		}, "3 of 4 nodes ready in default/web", false},
		"one of two addresses is down": {func(w *world, _ *report.Facts) {
			w.nodes[0].Addresses, w.refuses = append(w.nodes[0].Addresses, ip(9)), refuses(9)
		}, "2 of 3 nodes ready in default/web", false},
		"the other is down": {func(w *world, _ *report.Facts) {
			w.nodes[0].Addresses, w.refuses = append(w.nodes[0].Addresses, ip(9)), refuses(0)
		}, "2 of 3 nodes ready in default/web", false},
		"a Service with a selector": {func(w *world, _ *report.Facts) {
			w.state.Service.HasSelector = true
			w.state.Slices = nil
		}, "3 of 3 nodes ready in default/web; the Service cannot be filled: ServiceHasSelector", false},
		"what is decided is not written": {func(w *world, _ *report.Facts) { w.state.Slices = nil }, "3 of 3 nodes ready in default/web", false},
		"a dry run does not write it":    {func(w *world, f *report.Facts) { w.state.Slices, f.DryRun = nil, true }, "3 of 3 nodes ready in default/web", true},
		"a slice of another program": {func(w *world, _ *report.Facts) {
			w.state.Refused = []publish.Refusal{{Name: "web-remote-2", Message: "is managed by somebody"}}
		}, "3 of 3 nodes ready in default/web", false},
		"a standby": {func(_ *world, f *report.Facts) {
			f.Leader, f.Election, f.Status = false, report.Election{Enabled: true, Holder: "pod-1"}, &report.Status{}
		}, "standing by for default/web; pod-1 leads", false},
		"a standby without a leader": {func(_ *world, f *report.Facts) {
			f.Leader, f.Election, f.Status = false, report.Election{Enabled: true}, &report.Status{}
		}, "standing by for default/web; no replica is known to lead", false},
		"nothing decided": {func(_ *world, f *report.Facts) { f.Status = &report.Status{} }, "no decision yet for default/web", false},
		"no node at all":  {func(w *world, _ *report.Facts) { w.nodes, w.state.Slices = nil, nil }, "0 of 0 nodes ready in default/web", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(3).publish()
			test.change(w, &report.Facts{})
			f := facts(w.assess(t))
			test.change(newWorld(3), &f)
			if got := report.Build(f); got.Summary != test.summary || got.Healthy != test.healthy {
				t.Errorf("got %q, healthy %v, want %q, %v", got.Summary, got.Healthy, test.summary, test.healthy)
			}
		})
	}
}

func TestOneWordSaysWhetherSomebodyHasToLook(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		change func(*report.Status, *report.Facts)
		want   report.Condition
	}{
		"nothing wrong":           {func(*report.Status, *report.Facts) {}, report.Healthy},
		"never read":              {func(s *report.Status, _ *report.Facts) { s.Source.LastSuccess = time.Time{} }, report.Degraded},
		"the source fails":        {func(s *report.Status, _ *report.Facts) { s.Source.LastErr = boom }, report.Degraded},
		"the source finds odd":    {func(_ *report.Status, f *report.Facts) { f.Warnings = []string{"odd"} }, report.Degraded},
		"another replica reaches": {func(s *report.Status, _ *report.Facts) { s.Findings[0].Reason = inventory.ReadyElsewhere }, report.Degraded},
		"others publish as well":  {func(s *report.Status, _ *report.Facts) { s.State.Beside = []publish.ForeignSlice{{Name: "web-1"}} }, report.Degraded},
		"not written yet":         {func(s *report.Status, _ *report.Facts) { s.Store.Pending = 1 }, report.Degraded},
		"not written by design":   {func(s *report.Status, f *report.Facts) { s.Store.Pending, f.DryRun = 1, true }, report.Healthy},
		"cannot be written":       {func(s *report.Status, _ *report.Facts) { s.Store.WriteErr = boom }, report.Failing},
		"cannot be loaded":        {func(s *report.Status, _ *report.Facts) { s.Store.LoadErr = boom }, report.Failing},
		"cannot be checked":       {func(s *report.Status, _ *report.Facts) { s.Verdict.Unchecked = 1 }, report.Failing},
		"a removal is pending": {func(s *report.Status, _ *report.Facts) {
			s.Verdict.Mode, s.Verdict.Removal = guard.Hold, guard.Removal{Endpoints: 1, Inventories: 1}
		}, report.Failing},
		"holding":      {func(s *report.Status, _ *report.Facts) { s.Verdict.Mode = guard.Hold }, report.Hold},
		"failing open": {func(s *report.Status, _ *report.Facts) { s.Verdict.Mode = guard.FailOpen }, report.FailOpen},
		"standing by":  {func(_ *report.Status, f *report.Facts) { f.Leader, f.Election.Enabled = false, true }, report.StandingBy},
		"starting":     {func(s *report.Status, _ *report.Facts) { *s = report.Status{} }, report.Starting},
		"cannot be read, from the start": {func(s *report.Status, _ *report.Facts) {
			*s = report.Status{}
			s.Source.LastErr = errors.New("401 Unauthorized")
		}, report.NothingReady},
		"nothing ready": {func(s *report.Status, _ *report.Facts) {
			s.Verdict.Members, s.Findings = nil, nil
		}, report.NothingReady},
	} {
		status := *newWorld(3).publish().assess(t)
		f := facts(&status)
		test.change(&status, &f)
		if d := report.Build(f); d.Condition != test.want || d.Healthy != (test.want == report.Healthy) {
			t.Errorf("%s: got %s, healthy %v; want %s", name, d.Condition, d.Healthy, test.want)
		}
	}
}

func TestTheHeadlineOfFailingOpenCountsWhatPasses(t *testing.T) {
	t.Parallel()
	w := newWorld(3).publish()
	w.refuses = func(addr netip.Addr) bool { return addr == ip(1) }
	status := *w.assess(t)
	status.Verdict.Mode = guard.FailOpen
	if got, want := report.Build(facts(&status)).Summary, "Failing open: 2 of 3 nodes pass, 2 of 3 published ready in default/web"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEachEntryHasItsOwnTrail(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.nodes[0].Name, w.nodes[1].Name = "a", "b"
	w.nodes[0].Addresses = []netip.Addr{ip(0), netip.MustParseAddr("192.168.0.1"), ip(5)}
	w.nodes[1].Worker = false
	w.nodes = append(w.nodes, inventory.Node{ID: "z", Name: "thief", Addresses: []netip.Addr{ip(0)}, Ready: true, Worker: true})
	var got []string
	for _, n := range w.document(t).Nodes {
		for _, d := range n.Decisions {
			got = append(got, strings.Join(strings.Fields(fmt.Sprint(n.Name, " ", n.Address, " ", n.State, ": ", d.Stage, " ", d.Address, " ", d.Reason)), " "))
		}
		if checked := n.HealthCheck != nil; checked != (n.Name == "a") {
			t.Errorf("%s: got the health check of another: %+v", n.Name, n.HealthCheck)
		}
	}
	want := []string{
		"a 10.100.100.1 ready: filter 192.168.0.1 OutsideSubnet", "a 10.100.100.1 ready: filter", "a 10.100.100.1 ready: health", "a 10.100.100.1 ready: guard Ready",
		"a 10.100.100.6 ready: filter 192.168.0.1 OutsideSubnet", "a 10.100.100.6 ready: filter", "a 10.100.100.6 ready: health", "a 10.100.100.6 ready: guard Ready",
		"b absent: filter NotWorker",
		"thief 10.100.100.1 absent: filter DuplicateAddress",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trail (-want +got):\n%s", diff)
	}
}

func TestMembersThatNoReadNamedHaveTheirOwnTrail(t *testing.T) {
	t.Parallel()
	w := newWorld(3).publish()
	w.nodes = nil
	for i, n := range w.document(t).Nodes {
		if n.Name != "" || n.Address != ip(i).String() || len(n.Decisions) != 2 || n.Decisions[0].Stage != "health" || n.Decisions[1].Reason != string(inventory.ReadyHeld) {
			t.Errorf("got %+v, want %s without a name, from probe to guard", n, ip(i))
		}
		for _, d := range n.Decisions {
			if d.Address != "" {
				t.Errorf("%s: got a word on %s", n.Address, d.Address)
			}
		}
	}
}

func TestWhatHasNoEntryIsToldWithItsNodeOnly(t *testing.T) {
	t.Parallel()
	// Two addresses with one node, and two without a node, which have no entry.
	named, nameless := newWorld(1), newWorld(2).publish()
	named.nodes[0].Addresses = []netip.Addr{ip(0), ip(1)}
	nameless.nodes = nil
	for name, test := range map[string]struct {
		w    *world
		want []string
	}{
		"one node": {named, []string{"filter 10.100.100.2", "health 10.100.100.2", "filter", "health", "guard", "guard 10.100.100.2"}},
		"no node":  {nameless, []string{"health", "guard"}},
	} {
		status := *test.w.assess(t)
		status.Findings = status.Findings[:1]
		d := report.Build(facts(&status))
		var got []string
		for _, step := range d.Nodes[0].Decisions {
			got = append(got, strings.TrimSpace(step.Stage+" "+step.Address))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: trail (-want +got):\n%s", name, diff)
		}
	}
}

func TestADocumentIsFoundByNameIDAndAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(3).publish()
	w.nodes[1].Addresses = append(w.nodes[1].Addresses, netip.MustParseAddr("fd00::1"))
	d := w.document(t)
	for subject, want := range map[string]string{
		w.nodes[0].Name: w.nodes[0].Name, strings.ToUpper(w.nodes[2].ID): w.nodes[2].Name, ip(2).String(): w.nodes[2].Name,
		"fd00:0:0::1": w.nodes[1].Name, "10.100.100": "", "": "",
	} {
		got := ""
		for _, n := range d.Find(subject) {
			got += n.Name
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", subject, got, want)
		}
	}
}

func TestTheDocumentSurvivesItsJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(4).publish()
	w.refuses = func(addr netip.Addr) bool { return addr == ip(1) }
	d := w.document(t)
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var back report.Document
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*d, back); diff != "" {
		t.Errorf("document (-before +after):\n%s", diff)
	}
}

// big bounds the JSON of 5,000 nodes.
const big = 5_000_000

func TestTheStatusOfFiveThousandNodesIsBounded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"healthy":          func(*world) {},
		"all refuse":       func(w *world) { w.refuses = func(netip.Addr) bool { return true } },
		"all are held":     func(w *world) { w.nodes = w.nodes[:10] },
		"no node is known": func(w *world) { w.nodes = nil },
		"one node has all": func(w *world) {
			for i := range w.nodes {
				w.nodes[0].Addresses = append(w.nodes[0].Addresses, ip(i), netip.AddrFrom4([4]byte{172, 16, byte(i >> 8), byte(i)}))
			}
			w.nodes = w.nodes[:1]
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(5_000).publish()
			change(w)
			d := w.document(t)
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes for %d entries in %s", len(text), len(d.Nodes), d.Mode)
			if len(d.Nodes) != 5_000 || len(text) >= big {
				t.Errorf("got %d bytes for %d entries, want under %d for 5000", len(text), len(d.Nodes), big)
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	status := newWorld(5_000).publish().assess(b)
	b.ReportAllocs()
	for b.Loop() {
		if d := report.Build(facts(status)); d.Mode != guard.Publish.String() || len(d.Nodes) != 5_000 {
			b.Fatal(d.Summary)
		}
	}
}

func TestWhatRejectedInventoriesWillTakeAwayIsInTheDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(3).publish()
	text, err := json.Marshal(w.document(t))
	if err != nil || strings.Contains(string(text), `"removal"`) || strings.Contains(string(text), `"unchecked"`) {
		t.Errorf("nothing to tell: got %v and %s", err, text)
	}
	f := facts(w.assess(t))
	status := *f.Status
	status.Verdict.Removal, status.Verdict.Unchecked = guard.Removal{Endpoints: 2, Inventories: 5}, 1
	f.Status = &status
	d := report.Build(f)
	if diff := cmp.Diff(&report.Removal{Endpoints: 2, Inventories: 5}, d.Removal); diff != "" || d.Stages.Unchecked != 1 {
		t.Errorf("got %d unchecked, want 1; removal (-want +got):\n%s", d.Stages.Unchecked, diff)
	}
}
