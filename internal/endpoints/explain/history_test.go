package explain_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// chronicle is what a pool tells while inventories and checks come.
type chronicle struct {
	at      time.Time
	memory  explain.Pool
	verdict guard.Verdict
	cycles  []explain.Cycle
	lines   []string
	// listed are further nodes that inventories list, of which none is eligible.
	listed int
}

func newChronicle() *chronicle {
	h := &chronicle{at: time.Unix(0, 0)}
	h.tell(pool.Outcome{Recovered: &pool.Recovery{}})
	return h
}

// reads lets the source list that many nodes, 10.0.0.1 and up.
func (h *chronicle) reads(nodes int) {
	read := guard.Inventory{Nodes: nodes + h.listed, Scheduled: true}
	for i := range nodes {
		addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})
		read.Candidates = append(read.Candidates, inventory.Candidate{Node: inventory.Identity{Name: fmt.Sprint("w", i+1)}, Address: addr})
	}
	h.at = h.at.Add(30 * time.Second)
	h.decide(&read)
	h.tell(pool.Outcome{Passed: true, Decided: true, Read: &pool.Attempt{At: h.at, Nodes: make([]inventory.Node, nodes+h.listed)}, Source: pool.SourceStatus{Nodes: nodes}})
}

// decide makes the next verdict; every endpoint passes.
func (h *chronicle) decide(read *guard.Inventory) {
	off := policy()
	off.HealthOff = true
	h.verdict = guard.Decide(guard.Input{Now: h.at, Read: read, Memory: h.verdict.Memory}, off)
}

// enters lets the mode change by itself.
func (h *chronicle) enters(mode guard.Mode, cause guard.Cause, message string) {
	h.verdict.Mode, h.verdict.Cause, h.verdict.Message = mode, cause, message
	h.tell(pool.Outcome{Passed: true, Decided: true})
}

func (h *chronicle) tell(o pool.Outcome) {
	verdict := h.verdict
	o.At, o.Verdict = h.at, &verdict
	var story explain.Story
	h.memory, story = h.memory.Tell(o)
	if story.Cycle != nil {
		h.cycles = explain.Prepend(h.cycles, *story.Cycle)
	}
	for _, line := range story.Lines {
		if line.Level > explain.Debug {
			h.lines = append(h.lines, strings.TrimSpace(line.Message+" "+strings.Trim(fmt.Sprint(line.Args), "[]")))
		}
	}
}

// spelled spells the history, oldest first.
func (h *chronicle) spelled() []string {
	var all []string
	for _, c := range h.cycles {
		var words []string
		if c.Inventory != nil {
			words = append(words, fmt.Sprintf("%d nodes %s", c.Inventory.Nodes, c.Inventory.Rejected))
		}
		if c.Mode != nil {
			words = append(words, fmt.Sprintf("%s -> %s %s", c.Mode.From, c.Mode.To, c.Mode.Reason))
		}
		for _, s := range c.States {
			words = append(words, fmt.Sprintf("%s %s -> %s %s", s.Address, s.From, s.To, s.Reason))
		}
		if c.MoreStates > 0 {
			words = append(words, fmt.Sprintf("and %d more", c.MoreStates))
		}
		all = append([]string{fmt.Sprintf("%s x%d", strings.Join(words, ", "), 1+c.Repeats)}, all...)
	}
	return all
}

func TestContract185TheHistoryTellsWhatWasRejectedAndHowModeAndStatesChanged(t *testing.T) {
	t.Parallel()
	h := newChronicle()
	for _, nodes := range []int{2, 2, 2, 0, 0, 0, 2, 2} {
		h.reads(nodes)
	}
	h.listed = 1
	h.reads(2) // and one that is not eligible
	want := []string{
		"2 nodes , 10.0.0.1 absent -> ready Ready, 10.0.0.2 absent -> ready Ready x1",
		"2 nodes  x2",
		"0 nodes NoNodes, Publish -> Hold NoNodes x1",
		"0 nodes NoNodes x2",
		"2 nodes , Hold -> Publish NoNodes x1",
		"2 nodes  x1",
		"3 nodes  x1",
	}
	if diff := cmp.Diff(want, h.spelled()); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// TestACycleListsNothingAsAnEmptyList: readers of JSON are promised lists.
func TestACycleListsNothingAsAnEmptyList(t *testing.T) {
	t.Parallel()
	h := newChronicle()
	h.reads(2)
	for _, c := range append(h.cycles, explain.CycleOf(nil, h.at, h.at)) {
		if c.Added == nil || c.Removed == nil || c.Changed == nil {
			t.Errorf("got a list that is nil: %+v", c)
		}
	}
}

func TestContract185ManyChangesOfStateAreNamedInPartAndCounted(t *testing.T) {
	t.Parallel()
	h := newChronicle()
	h.reads(50)
	if got := h.cycles[0]; len(got.States) != 20 || got.MoreStates != 30 {
		t.Errorf("got %d states and %d more, want 20 and 30", len(got.States), got.MoreStates)
	}
}

func TestContract185AnEmptyInventoryIsNotCalledEligible(t *testing.T) {
	t.Parallel()
	h := newChronicle()
	outside := []inventory.Decision{{Node: inventory.Identity{Name: "w9"}, Stage: inventory.StageFilter, Reason: inventory.OutsideSubnet}}
	for _, source := range []pool.SourceStatus{{Nodes: 1, Decisions: outside}, {}, {Nodes: 1, Decisions: outside}, {Nodes: 2}} {
		h.tell(pool.Outcome{Read: &pool.Attempt{}, Source: source})
	}
	var got []string
	for _, line := range h.lines[1:] {
		got = append(got, strings.SplitAfter(line, "eligible")[0])
	}
	want := []string{"some nodes are not eligible", "the inventory is empty", "some nodes are not eligible", "all nodes of the inventory are eligible"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestContract185AChangeOfTheModeHasTheKeysOfAnEndpointAndItsReason(t *testing.T) {
	t.Parallel()
	h := newChronicle()
	h.enters(guard.FailOpen, guard.NothingPasses, "none of 2 passes")
	h.enters(guard.Publish, "", "")
	want := []string{
		"mode changed from Publish to FailOpen reason NothingPasses message none of 2 passes",
		"mode changed from FailOpen to Publish reason NothingPasses message over: health checks decide again",
	}
	if diff := cmp.Diff(want, h.lines[1:]); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestWhatABeatWasTheFirstToKnowIsToldWithTheNextOutcome: a beat tells no changes, and the
// next outcome tells all since the one before it.
func TestWhatABeatWasTheFirstToKnowIsToldWithTheNextOutcome(t *testing.T) {
	t.Parallel()
	h := newChronicle()
	h.decide(&guard.Inventory{Nodes: 1, Candidates: []inventory.Candidate{{Node: inventory.Identity{Name: "w1"}, Address: netip.MustParseAddr("10.0.0.1")}}})
	h.at = h.at.Add(time.Minute)
	h.tell(pool.Outcome{Beat: true, Decided: true})
	h.tell(pool.Outcome{Passed: true, Decided: true})
	if got, want := h.spelled(), []string{"10.0.0.1 absent -> ready Ready x1"}; !cmp.Equal(got, want) || !h.memory.ModeSince.Equal(h.at) {
		t.Errorf("got %q and the mode since %v, want %q and %v", got, h.memory.ModeSince, want, h.at)
	}
}

// TestContract240ABeatThatIsTheFirstToKnowOfAnotherReplicaTellsItOnce: with the next outcome.
func TestContract240ABeatThatIsTheFirstToKnowOfAnotherReplicaTellsItOnce(t *testing.T) {
	t.Parallel()
	h := newChronicle()
	h.verdict.Elsewhere, h.verdict.Replica = 2, "pod-b"
	h.verdict.Placement = guard.Placement{Reason: inventory.Reason(explain.UnknownNode), Message: "w9"}
	for _, beat := range []bool{true, true, false, true, false} {
		h.tell(pool.Outcome{Beat: beat, Decided: true})
	}
	for _, once := range []string{"another replica connects", "something is wrong with the placement"} {
		if all := strings.Join(h.lines, "\n"); strings.Count(all, once) != 1 {
			t.Errorf("got %q, want once %q", h.lines, once)
		}
	}
}
