package explain_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// history is a daemon to which anything happens that findings can show.
type history struct {
	now, judged time.Time
	memory      guard.Memory
	health      inventory.Health
	filtered    []inventory.Decision
	// parked is a read that is shown and not decided on yet.
	parked  *guard.Inventory
	verdict guard.Verdict
	found   []explain.Finding
	policy  guard.Policy
}

// recoverHistory starts from endpoints that no read has named.
func recoverHistory(t *rapid.T) *history {
	h := &history{now: time.Now(), policy: policy()}
	h.policy.Threshold = 2
	h.policy.FailOpen = rapid.Bool().Draw(t, "fail open")
	var members []inventory.Member
	for i := range rapid.IntRange(0, 6).Draw(t, "recovered") {
		state := rapid.SampledFrom([]inventory.State{inventory.StateReady, inventory.StateDraining, inventory.StateDown}).Draw(t, "state")
		members = append(members, inventory.Member{Address: address(i), State: state})
	}
	h.memory = guard.Recover(members, h.now, nil, nil)
	return h
}

// address is one of few: they collide; the last is outside.
func address(i int) netip.Addr {
	if i == 7 {
		return netip.MustParseAddr("192.168.0.7")
	}
	return netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
}

// read draws an inventory with every kind of contradiction.
func (h *history) read(t *rapid.T) {
	var nodes []inventory.Node
	for range rapid.IntRange(0, 6).Draw(t, "nodes") {
		n := inventory.Node{
			Name:  rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"),
			ID:    rapid.SampledFrom([]string{"", "", "1", "2"}).Draw(t, "id"),
			Ready: rapid.IntRange(0, 4).Draw(t, "not ready") > 0, Worker: rapid.IntRange(0, 4).Draw(t, "no worker") > 0,
			Leaving: rapid.IntRange(0, 4).Draw(t, "leaving") == 0,
		}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 7), 0, 2).Draw(t, "addresses") {
			n.Addresses = append(n.Addresses, address(i))
		}
		nodes = append(nodes, n)
	}
	filtered := filter.Apply(nodes, filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}})
	h.filtered = explain.ByName(filtered.Decisions)
	h.parked = &guard.Inventory{Nodes: len(nodes), Candidates: filtered.Candidates, Decisions: filtered.Decisions, Scheduled: true}
}

// probe draws results for some of the addresses.
func (h *history) probe(t *rapid.T) {
	var results []inventory.Result
	for i := range 7 {
		r := inventory.Result{Address: address(i), At: h.now}
		switch rapid.IntRange(0, 4).Draw(t, "result") {
		case 0, 1:
			r.Outcome, r.Reason = inventory.Pass, inventory.Ready
		case 2:
			r.Outcome, r.Reason = inventory.Refused, inventory.ProbeRefused
		case 3:
			r.Outcome, r.Reason = inventory.Silent, inventory.ProbeTimeout
		default:
			continue
		}
		results = append(results, r)
	}
	h.health = health.Advance(h.health, results)
}

func (h *history) decide() {
	h.verdict = guard.Decide(guard.Input{Now: h.now, Read: h.parked, Health: h.health, Memory: h.memory}, h.policy)
	h.memory, h.parked, h.judged = h.verdict.Memory, nil, h.now
}

func TestFindingsForgetNothingAndSayEverythingOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := recoverHistory(t)
		h.decide()
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			h.now = h.now.Add(time.Duration(rapid.IntRange(1, 240).Draw(t, "seconds")) * time.Second)
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				h.read(t) // and it waits
			case 1:
				h.read(t)
				h.decide()
			case 2:
				h.decide()
			case 3: // nothing is decided, but shown
			default:
				h.probe(t)
				h.decide()
			}
			h.show(t)
		}
	})
}

// show takes the next findings and checks them.
func (h *history) show(t *rapid.T) {
	t.Helper()
	inputs := func() string { return fmt.Sprint(h.found, h.filtered, h.verdict.Decisions, h.verdict.Members) }
	before, was := inputs(), h.found
	found := explain.Findings(h.found, h.filtered, h.verdict, h.judged, h.now)
	if diff := cmp.Diff(before, inputs()); diff != "" {
		t.Fatalf("the inputs moved: %s", diff)
	}
	if diff := cmp.Diff(found, explain.Findings(found, h.filtered, h.verdict, h.judged, h.now), cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
		t.Fatalf("nothing happened, but: %s", diff)
	}
	h.found = found
	h.checkOrder(t)
	h.checkMembers(t)
	h.checkNodes(t)
	h.checkTimes(t, was)
	h.checkGone(t)
}

// checkOrder: sorted, and each node and address once.
func (h *history) checkOrder(t *rapid.T) {
	t.Helper()
	for i, f := range h.found {
		if f.Reason == "" {
			t.Fatalf("no reason: %+v", f)
		}
		f.Stage, f.Reason = "", ""
		if i == 0 {
			continue
		}
		p := h.found[i-1]
		p.Stage, p.Reason = "", ""
		if inventory.CompareDecisions(p.Decision, f.Decision) >= 0 {
			t.Fatalf("out of order, or twice: %+v, %+v", p, f)
		}
	}
}

// checkMembers: every published endpoint has one finding with its state, and nothing
// else has a state.
func (h *history) checkMembers(t *rapid.T) {
	t.Helper()
	var got []string
	for _, f := range h.found {
		if f.State != inventory.Absent {
			got = append(got, fmt.Sprint(f.Address, f.State))
		}
	}
	var want []string
	for _, m := range h.verdict.Members {
		want = append(want, fmt.Sprint(m.Address, m.State))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("members (-want +got): %s", diff)
	}
}

// checkNodes: every node of the newest read is there.
func (h *history) checkNodes(t *rapid.T) {
	t.Helper()
	for _, d := range h.filtered {
		if !slices.ContainsFunc(h.found, func(f explain.Finding) bool { return f.Node == d.Node }) {
			t.Fatalf("node %+v is in the read and has no finding: %+v", d.Node, h.found)
		}
	}
}

// checkTimes: a time is kept while nothing changes, and never goes back.
func (h *history) checkTimes(t *rapid.T, before []explain.Finding) {
	t.Helper()
	for _, f := range h.found {
		if f.Since.After(h.now) {
			t.Fatalf("since a time to come: %+v", f)
		}
		i := slices.IndexFunc(before, func(b explain.Finding) bool { return b.Node == f.Node && b.Address == f.Address })
		switch {
		case i < 0:
		case before[i].State == f.State && before[i].Reason == f.Reason && !f.Since.Equal(before[i].Since):
			t.Fatalf("nothing changed but the time: %+v, before %+v", f, before[i])
		case before[i].State == f.State && before[i].Reason == f.Reason:
		case !f.Since.Equal(h.now) && !(f.Reason == inventory.Gone && f.Since.Equal(h.judged)):
			t.Fatalf("changed at %v: %+v, before %+v", h.now, f, before[i])
		}
	}
}

// checkGone: a node that the read leaves out is gone only if there is nothing else to
// say of it, and not for longer than promised.
func (h *history) checkGone(t *rapid.T) {
	t.Helper()
	for _, f := range h.found {
		listed := slices.ContainsFunc(h.filtered, func(d inventory.Decision) bool { return d.Node == f.Node })
		if f.Reason != inventory.Gone || listed {
			continue
		}
		if h.now.Sub(f.Since) >= explain.Remembered {
			t.Fatalf("remembered for too long: %+v", f)
		}
		for _, other := range h.found {
			if other.Reason != inventory.Gone && (f.Node.Known() && other.Node == f.Node || !f.Node.Known() && other.Address == f.Address) {
				t.Fatalf("gone, and more: %+v, %+v", f, other)
			}
		}
	}
}
