package explain_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// TestWhatChangesIsFoundAsIfAllWereLookedAt: a pool's findings are kept up to date
// after each outcome, and say what Findings makes of everything.
func TestWhatChangesIsFoundAsIfAllWereLookedAt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := recoverHistory(t)
		h.decide()
		told, source := explain.Pool{}, pool.SourceStatus{}
		tell := func(o pool.Outcome) {
			t.Helper()
			verdict := h.verdict
			o.At, o.Judged, o.Verdict, o.Health, o.Source = h.now, h.judged, &verdict, h.health, source
			before := told.Findings()
			told, _ = told.Tell(o)
			h.found = explain.Findings(h.found, h.filtered, h.verdict, h.judged, h.now)
			if diff := cmp.Diff(h.found, told.Findings(), cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("findings (-want +got):\n%s\nbefore: %+v", diff, before)
			}
		}
		read := func() *pool.Attempt {
			h.read(t)
			source.Decisions = h.parked.Decisions
			return &pool.Attempt{At: h.now}
		}
		tell(pool.Outcome{Recovered: &pool.Recovery{}})
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			h.now = h.now.Add(time.Duration(rapid.IntRange(1, 240).Draw(t, "seconds")) * time.Second)
			var o pool.Outcome
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0: // a read that waits
				o.Read = read()
			case 1:
				o.Read, o.Passed = read(), true
				h.decide()
			case 2: // nothing is decided, but shown
			default:
				h.probe(t)
				h.decide()
				o.Passed = true
			}
			tell(o)
		}
	})
}

func TestAChangeOfOneNodeMakesNoListOfAllFindings(t *testing.T) {
	f := newFleet(1_000)
	told, _ := explain.Pool{}.Tell(pool.Outcome{Recovered: &pool.Recovery{}, Verdict: &f.verdict})
	source := pool.SourceStatus{Decisions: f.decisions}
	told, _ = told.Tell(pool.Outcome{At: f.in.Now, Judged: f.in.Now, Verdict: &f.verdict, Source: source, Read: &pool.Attempt{}, Passed: true})
	changed := f.verdict
	changed.Decisions = append([]inventory.Decision(nil), f.verdict.Decisions...)
	changed.Decisions[7].Reason = inventory.ReadyFailing
	got := testing.AllocsPerRun(5, func() {
		told.Tell(pool.Outcome{At: f.in.Now, Judged: f.in.Now, Verdict: &changed, Source: source, Passed: true})
	})
	if got > 20 {
		t.Errorf("got %.0f allocations for one change among 1,000 nodes, want at most 20", got)
	}
}

func TestManyChangesOneAfterAnotherAreFoundAsIfAllWereLookedAt(t *testing.T) {
	f := newFleet(200)
	told, _ := explain.Pool{}.Tell(pool.Outcome{At: f.in.Now, Recovered: &pool.Recovery{}, Verdict: &f.verdict})
	source := pool.SourceStatus{Decisions: f.decisions}
	verdict, want := f.verdict, []explain.Finding(nil)
	for i := range 220 {
		now := f.in.Now.Add(time.Duration(i) * time.Second)
		verdict.Decisions = slices.Clone(verdict.Decisions)
		verdict.Decisions[i*7%200].Reason = inventory.ReadyFailing
		after := verdict
		told, _ = told.Tell(pool.Outcome{At: now, Judged: now, Verdict: &after, Source: source, Read: &pool.Attempt{}, Passed: true})
		want = explain.Findings(want, f.decisions, after, now, now)
		if diff := cmp.Diff(want, told.Findings(), cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
			t.Fatalf("findings after %d changes (-want +got):\n%s", i+1, diff)
		}
	}
}
