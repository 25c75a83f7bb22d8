package explain_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// scene is what one pass has seen. Each line is "name[#id] [octet] [Reason]
// [state]", without a name where none is known.
type scene struct {
	filtered, decided []string
	// after is how long after the first scene this one is.
	after time.Duration
	// asBefore says that no decision was made since.
	asBefore bool
}

// play goes through scenes and returns what is found after the last, as "name
// octet Reason state since".
func play(t *testing.T, scenes ...scene) []string {
	t.Helper()
	start := time.Now()
	var found []explain.Finding
	var judged time.Time
	for _, s := range scenes {
		now := start.Add(s.after)
		if !s.asBefore {
			judged = now
		}
		decided, members := parse(inventory.StageGuard, s.decided)
		filtered, _ := parse(inventory.StageFilter, s.filtered)
		found = explain.Findings(found, filtered, guard.Verdict{Decisions: decided, Members: members}, judged, now)
	}
	var said []string
	for _, f := range found {
		line := f.Node.Name
		if f.Node.ID != "" {
			line += "#" + f.Node.ID
		}
		if f.Address.IsValid() {
			line += fmt.Sprint(" ", f.Address.As4()[3])
		}
		said = append(said, fmt.Sprint(line, " ", f.Reason, " ", f.State, " ", f.Since.Sub(start)))
	}
	return said
}

// parse makes sorted decisions and endpoints of lines.
func parse(stage inventory.Stage, lines []string) ([]inventory.Decision, []inventory.Member) {
	var decisions []inventory.Decision
	var members []inventory.Member
	for _, line := range lines {
		d := inventory.Decision{Stage: stage}
		var state inventory.State
		for i, word := range strings.Fields(line) {
			octet := 0
			_, err := fmt.Sscanf(word, "%d", &octet)
			switch {
			case err == nil:
				d.Address = netip.AddrFrom4([4]byte{10, 0, 0, byte(octet)})
			case i == 0 && word != "-":
				d.Node.Name, d.Node.ID, _ = strings.Cut(word, "#")
			case word == "ready":
				state = inventory.StateReady
			case word == "draining":
				state = inventory.StateDraining
			case word == "down":
				state = inventory.StateDown
			case word != "-":
				d.Reason = inventory.Reason(word)
			}
		}
		decisions = append(decisions, d)
		if state != inventory.Absent {
			members = append(members, inventory.Member{Address: d.Address, State: state})
		}
	}
	slices.SortFunc(decisions, inventory.CompareDecisions)
	slices.SortFunc(members, inventory.CompareMembers)
	return decisions, members
}

func TestTheLastWordOnEachNode(t *testing.T) {
	t.Parallel()
	lines := func(l ...string) []string { return l }
	for name, test := range map[string]struct {
		scenes []scene
		want   []string
	}{
		"the guard's word comes after the filter's": {
			[]scene{{filtered: lines("a 1", "b 2"), decided: lines("a 1 Ready ready", "b 2 ProbeRefused down")}},
			lines("a 1 Ready ready 0s", "b 2 ProbeRefused down 0s"),
		},
		"a node that the filter refuses has one word, the first": {
			[]scene{{filtered: lines("a 1 ForbiddenAddress", "a 2 OutsideSubnet", "b NotWorker")}},
			lines("a 1 ForbiddenAddress absent 0s", "b NotWorker absent 0s"),
		},
		"a further address that is refused is no word on the node": {
			[]scene{{filtered: lines("a 1", "a 2 OutsideSubnet"), decided: lines("a 1 Ready ready")}},
			lines("a 1 Ready ready 0s"),
		},
		"each address that came as far as the guard has a word": {
			[]scene{{filtered: lines("a 1", "a 2"), decided: lines("a 1 Ready ready", "a 2 ProbeTimeout")}},
			lines("a 1 Ready ready 0s", "a 2 ProbeTimeout absent 0s"),
		},
		"who loses an address to another is not ready because that one is": {
			[]scene{{filtered: lines("a 1", "b 1 DuplicateAddress"), decided: lines("a 1 Ready ready")}},
			lines("a 1 Ready ready 0s", "b 1 DuplicateAddress absent 0s"),
		},
		"machines of one name are told apart by id": {
			[]scene{{filtered: lines("a#1 1", "a#2 2", "a#3 NodeNotReady"), decided: lines("a#1 1 Ready ready", "a#2 2 ProbeTLS")}},
			lines("a#1 1 Ready ready 0s", "a#2 2 ProbeTLS absent 0s", "a#3 NodeNotReady absent 0s"),
		},
		"a member that is not ready in its cluster still drains": {
			[]scene{{filtered: lines("a NodeNotReady"), decided: lines("a 1 Draining draining")}},
			lines("a 1 Draining draining 0s"),
		},
		"members that no read has named are found by address": {
			[]scene{{decided: lines("- 1 ProbePending ready", "- 2 ProbePending down")}},
			lines(" 1 ProbePending ready 0s", " 2 ProbePending down 0s"),
		},
		"a read that waits names the members and shows its nodes": {
			[]scene{{filtered: lines("a 1", "b 2", "c NotWorker"), decided: lines("- 1 ReadyFailing ready", "- 3 Ready ready")}},
			lines(" 3 Ready ready 0s", "a 1 ReadyFailing ready 0s", "b 2 ProbePending absent 0s", "c NotWorker absent 0s"),
		},
		"a member is named after the node that keeps its address": {
			[]scene{{filtered: lines("a 1 DuplicateAddress", "b 1"), decided: lines("- 1 Ready ready")}},
			lines("a 1 DuplicateAddress absent 0s", "b 1 Ready ready 0s"),
		},
		"a member that the filter refuses today has the name of its node": {
			[]scene{{filtered: lines("a 1 OutsideSubnet"), decided: lines("- 1 Draining draining")}},
			lines("a 1 Draining draining 0s"),
		},
		"what stays as it was keeps its time": {
			[]scene{
				{filtered: lines("a 1", "b 2"), decided: lines("a 1 Ready ready", "b 2 Ready ready")},
				{filtered: lines("a 1", "b 2"), decided: lines("a 1 Ready ready", "b 2 ReadyFailing ready"), after: time.Minute},
				{filtered: lines("a 1", "b 2"), decided: lines("a 1 Ready ready", "b 2 ReadyFailing ready"), after: time.Hour},
			},
			lines("a 1 Ready ready 0s", "b 2 ReadyFailing ready 1m0s"),
		},
		"a name and an id that become known change nothing": {
			[]scene{
				{decided: lines("- 1 Ready ready", "- 2 Ready ready")},
				{filtered: lines("a 1", "b 2"), decided: lines("a 1 Ready ready", "b 2 Ready ready"), after: time.Minute},
				{filtered: lines("a#1 1", "b#2 2"), decided: lines("a#1 1 Ready ready", "b#2 2 Draining draining"), after: time.Hour},
			},
			lines("a#1 1 Ready ready 0s", "b#2 2 Draining draining 1h0m0s"),
		},
		"an address that moves begins anew": {
			[]scene{
				{filtered: lines("a 1"), decided: lines("a 1 Ready ready")},
				{filtered: lines("b 1"), decided: lines("b 1 Ready ready"), after: time.Minute},
			},
			lines("b 1 Ready ready 1m0s"),
		},
		"what was removed is remembered while there is nothing else to say": {
			[]scene{
				{decided: lines("a 1 Gone", "b 2 Gone", "c 3 Gone")},
				{filtered: lines("b 4", "c NotWorker"), decided: lines("b 4 Ready ready"), after: time.Minute},
			},
			lines("a 1 Gone absent 0s", "b 4 Ready ready 1m0s", "c NotWorker absent 1m0s"),
		},
		"what was removed is remembered although another has its address": {
			[]scene{
				{decided: lines("a 1 Gone")},
				{filtered: lines("b 1"), decided: lines("b 1 Ready ready"), after: time.Minute},
			},
			lines("a 1 Gone absent 0s", "b 1 Ready ready 1m0s"),
		},
		"what has come back under its name is not gone": {
			[]scene{
				{decided: lines("- 1 Gone", "b 2 Gone", "c#1 3 Gone")},
				{filtered: lines("a 1", "b#7 2", "c#2 3"), decided: lines("a 1 Ready ready", "b#7 2 Ready ready", "c#2 3 Ready ready"), after: time.Minute},
			},
			lines("a 1 Ready ready 1m0s", "b#7 2 Ready ready 1m0s", "c#1 3 Gone absent 0s", "c#2 3 Ready ready 1m0s"),
		},
		"a member that no read has named is gone although others are there": {
			[]scene{{decided: lines("- 1 Ready ready", "- 2 Gone")}},
			lines(" 1 Ready ready 0s", " 2 Gone absent 0s"),
		},
		"it is forgotten in the end": {
			[]scene{{decided: lines("a 1 Gone")}, {after: explain.Remembered - 1}, {after: explain.Remembered}},
			nil,
		},
		"it stays forgotten although no decision is made since": {
			[]scene{
				{decided: lines("a 1 Gone")},
				{decided: lines("a 1 Gone"), asBefore: true, after: explain.Remembered},
				{decided: lines("a 1 Gone"), asBefore: true, after: explain.Remembered + time.Second},
			},
			nil,
		},
		"a node that was announced to leave is shown as long as it is listed": {
			[]scene{
				{filtered: lines("a 1"), decided: lines("a 1 Gone")},
				{filtered: lines("a 1"), decided: lines("a 1 Gone"), after: time.Hour},
			},
			lines("a 1 Gone absent 0s"),
		},
		"that it drains says more than that another address left": {
			[]scene{{filtered: lines("a 1", "a 2"), decided: lines("a 1 Gone", "a 2 Draining draining")}},
			lines("a 2 Draining draining 0s"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, play(t, test.scenes...), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheNewestOfWhatIsGoneAreRemembered(t *testing.T) {
	t.Parallel()
	var old, fresh, listed []string
	for i := range 90 {
		old = append(old, fmt.Sprintf("a-%02d %d Gone", i, i))
		fresh = append(fresh, fmt.Sprintf("z-%02d %d Gone", i, 100+i))
		listed = append(listed, fmt.Sprintf("k-%02d %d", i, 100+i))
	}
	kept := play(t, scene{decided: old}, scene{filtered: listed, decided: fresh, after: time.Minute})
	count := func(prefix string) int {
		return len(slices.DeleteFunc(slices.Clone(kept), func(line string) bool { return !strings.HasPrefix(line, prefix) }))
	}
	if count("z-") != 90 || count("a-") != explain.MaxGone-90 || count("k-") != 90 {
		t.Errorf("got %d new and %d old ones beside %d nodes, want 90, %d and 90", count("z-"), count("a-"), count("k-"), explain.MaxGone-90)
	}
	if !slices.IsSortedFunc(kept, func(a, b string) int { return strings.Compare(strings.Fields(a)[0], strings.Fields(b)[0]) }) {
		t.Errorf("got findings out of order: %v", kept)
	}
}
