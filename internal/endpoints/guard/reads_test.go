package guard_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

func TestContract13RejectsAboveTheLargerOfOneAndThePercentage(t *testing.T) {
	tests := []struct {
		name, members, read string
		percent             int
		mode                string
	}{
		{"1 of 1 replaced, 50 %", "a", "z", 50, "Publish"},
		{"1 of 1 replaced, 0 %", "a", "z", 0, "Publish"},
		{"1 of 2, 50 %", "a b", "b", 50, "Publish"},
		{"1 of 2, 0 %", "a b", "b", 0, "Publish"},
		{"2 of 2 replaced, 50 %", "a b", "z", 50, "Hold TooManyRemovals"},
		{"2 of 2 replaced, 99 %", "a b", "z", 99, "Hold TooManyRemovals"},
		{"2 of 2 replaced, 100 %", "a b", "z", 100, "Publish"},
		{"1 of 3, 33 %", "a b c", "b c", 33, "Publish"},
		{"2 of 3, 50 %", "a b c", "c", 50, "Hold TooManyRemovals"},
		{"2 of 3, 66 %", "a b c", "c", 66, "Hold TooManyRemovals"},
		{"2 of 3, 67 %", "a b c", "c", 67, "Publish"},
		{"2 of 4, 49 %", "a b c d", "c d", 49, "Hold TooManyRemovals"},
		{"2 of 4, 50 %", "a b c d", "c d", 50, "Publish"},
		{"3 of 4, 50 %", "a b c d", "d", 50, "Hold TooManyRemovals"},
		{"2 of 4, 0 %", "a b c d", "c d", 0, "Hold TooManyRemovals"},
		{"all but one of 5, 100 %", "a b c d e", "e", 100, "Publish"},
		{"announced ones count", "a b c d", "a! b! c! d", 50, "Hold TooManyRemovals"},
		{"additions make nothing better", "a b c d", "d v w x y z", 50, "Hold TooManyRemovals"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := running(t, test.members)
			l.policy.MaxRemovalPercent = test.percent
			l.read(test.read)
			l.wantMode(test.mode)
		})
	}
}

func TestContract13CountsReadyMembersOnly(t *testing.T) {
	l := running(t, "a b c d e f")
	l.refuse("a a a b b b c c c")
	l.want("a=down b=down c=down d=ready e=ready f=ready")
	t.Run("down ones take nothing away", func(t *testing.T) {
		l := *l
		l.TB = t
		l.read("d e f")
		l.wantMode("Publish")
		l.want("d=ready e=ready f=ready")
	})
	t.Run("and do not make the share of the others smaller", func(t *testing.T) {
		l := *l
		l.TB = t
		l.read("a b c d")
		l.wantMode("Hold TooManyRemovals")
		l.want("a=down b=down c=down d=ready e=ready f=ready")
	})
}

func TestContract13HoldsWhenTheInventoryCollapses(t *testing.T) {
	tests := []struct {
		name  string
		read  guard.Inventory
		mode  string
		parts []string
	}{
		{"no node", guard.Inventory{Scheduled: true}, "Hold NoNodes", []string{"no node", "3 IPv4 endpoints"}},
		{"no node that passes the filter", guard.Inventory{Nodes: 7, Scheduled: true}, "Hold NothingPassesFilter", []string{"7 nodes", "eligible"}},
		{"nodes that are not ready", guard.Inventory{Nodes: 4, Scheduled: true, Decisions: []inventory.Decision{
			{Node: inventory.Identity{Name: "w1"}, Reason: inventory.OutsideSubnet, Address: netip.MustParseAddr("192.0.2.1")},
			{Node: inventory.Identity{Name: "w2"}, Reason: inventory.NodeNotReady}, {Node: inventory.Identity{Name: "w3"}, Reason: inventory.NodeNotReady}, {Node: inventory.Identity{Name: "w4"}, Reason: inventory.NodeNotReady},
			{Node: inventory.Identity{Name: "w1"}, Reason: inventory.OutsideSubnet, Address: netip.MustParseAddr("192.0.2.2")},
			{Node: inventory.Identity{Name: "w1"}, Reason: inventory.OutsideSubnet, Address: netip.MustParseAddr("192.0.2.3")},
			{Node: inventory.Identity{Name: "w1"}, Reason: inventory.OutsideSubnet, Address: netip.MustParseAddr("192.0.2.4")},
		}}, "Hold NothingPassesFilter", []string{"no IPv4 address of the 4 nodes is eligible (NodeNotReady: 3)"}},
		{"one of three", reading("a"), "Hold TooManyRemovals", []string{"2 of 3", "MAX_REMOVAL_PERCENT=50"}},
		{"by a change signal", guard.Inventory{Nodes: 0}, "Hold NoNodes", []string{"Rejected 0 scheduled"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := running(t, "a b c")
			l.decide(&test.read)
			l.want("a=ready b=ready c=ready")
			l.wantMode(test.mode)
			for _, part := range append(test.parts, "EMPTY_RESULT_THRESHOLD=10") {
				if !strings.Contains(l.verdict.Message, part) {
					t.Errorf("got message %q, want it to name %q", l.verdict.Message, part)
				}
			}
			l.wait(24 * time.Hour)
			l.want("a=ready b=ready c=ready")
		})
	}
}

func TestContract13HoldsTheOnlyMemberToo(t *testing.T) {
	for _, mode := range []string{"ready", "down"} {
		l := restarted(t, "a="+mode)
		l.read("")
		l.want("a=" + mode)
		l.wantMode("Hold NoNodes")
	}
}

func TestContract13LetsNothingBeGoneWhereNothingIsPublished(t *testing.T) {
	l := newLab(t)
	l.read("")
	l.wantMode("Publish")
	l.decide(&guard.Inventory{Nodes: 3, Scheduled: true})
	l.wantMode("Publish")
}

func TestContract13AddsFromARejectedInventoryAtOnce(t *testing.T) {
	l := running(t, "a b c d")
	l.read("d x y")
	l.pass("x")
	l.want("a=ready b=ready c=ready d=ready x=ready")
	l.wantMode("Hold TooManyRemovals")
}

func TestContract13RemovesWhatWasDownAtEachInventoryOfTheThreshold(t *testing.T) {
	for _, threshold := range []int{1, 2, 3, 10} {
		l := running(t, "a b c d")
		l.policy.Threshold = threshold
		l.signal("d")
		l.refuse("a a a")
		l.reads(threshold-1, "d")
		l.want("a=down b=ready c=ready d=ready")
		if got := l.verdict.Memory.Rejected(); got != threshold-1 {
			t.Errorf("got %d rejected inventories, want %d", got, threshold-1)
		}
		l.read("d")
		l.want("b=ready c=ready d=ready")
		l.wantReason("a", inventory.Gone, fmt.Sprintf("EMPTY_RESULT_THRESHOLD=%d", threshold))
		l.reads(2*threshold, "d")
		l.want("b=ready c=ready d=ready")
		l.wantMode("Hold TooManyRemovals")
		l.read("b c d")
		if got := l.verdict.Memory.Rejected(); got != 0 {
			t.Errorf("got %d rejected inventories after an accepted one, want 0", got)
		}
	}
}

// What is ready and fails, if too seldom to be down, is no reason to give up the rest.
func TestContract13RemovesNothingWhileNothingThatIsReadyPasses(t *testing.T) {
	l := running(t, "a b c d")
	l.policy.Threshold = 2
	l.signal("d")
	l.refuse("a a a b c d")
	l.reads(4, "d")
	l.want("a=down b=ready c=ready d=ready")
	l.pass("d")
	l.reads(2, "d")
	l.want("b=ready c=ready d=ready")
}

func TestContract13RemovesNothingWithThresholdZero(t *testing.T) {
	l := running(t, "a b c d")
	l.policy.Threshold = 0
	l.reads(100, "")
	l.want("a=ready b=ready c=ready d=ready")
	l.wantMode("Hold NoNodes")
	if !strings.Contains(l.verdict.Message, "will not be removed") {
		t.Errorf("got message %q", l.verdict.Message)
	}
}

func TestContract13CountsConsecutiveRejectedInventories(t *testing.T) {
	const stays, gone = "a=down b=ready c=ready d=ready", "b=ready c=ready d=ready"
	tests := []struct {
		name    string
		between func(l *lab)
		want    string
	}{
		{"an error between them resets nothing", func(l *lab) { l.wait(time.Minute) }, gone},
		{"an accepted one resets", func(l *lab) { l.read("a b c d") }, stays},
		{"one that a signal brought resets as well", func(l *lab) { l.signal("a b c d") }, stays},
		{"a rejected one that a signal brought counts for nothing", func(l *lab) { l.signal("d") }, gone},
		{"a pass resets", func(l *lab) { l.pass("a"); l.refuse("a a a") }, stays},
		{"a pass resets, even where a failure came with it", func(l *lab) {
			l.together(inventory.Pass, inventory.Refused, inventory.Refused, inventory.Refused)
		}, stays},
		{"nothing counts while cut off, and nothing is lost", func(l *lab) {
			l.silence("b c d")
			l.wantMode("Hold TooManyRemovals")
			l.reads(5, "d")
			l.pass("b c d")
			l.wait(6 * time.Second)
		}, gone},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := running(t, "a b c d")
			l.policy.Threshold = 3
			l.signal("d")
			l.refuse("a a a")
			l.reads(2, "d")
			test.between(l)
			l.want(stays)
			l.read("d")
			l.want(test.want)
		})
	}
}

func TestContract13CountsForEachEndpointByItself(t *testing.T) {
	l := running(t, "a b c d e f")
	l.policy.Threshold = 3
	l.play([]step{
		{"five left out", func(l *lab) { l.signal("f"); l.refuse("a a a") }, "a=down b=ready c=ready d=ready e=ready f=ready"},
		{"twice with a down", func(l *lab) { l.reads(2, "f") }, "a=down b=ready c=ready d=ready e=ready f=ready"},
		{"a third time, b for the first", func(l *lab) { l.refuse("b b b"); l.read("f") }, "b=down c=ready d=ready e=ready f=ready"},
		{"b for the second time", func(l *lab) { l.read("f") }, "b=down c=ready d=ready e=ready f=ready"},
		{"b for the third time", func(l *lab) { l.read("f") }, "c=ready d=ready e=ready f=ready"},
	})
}

func TestContract13ABurstOfSignalsRemovesNothing(t *testing.T) {
	l := running(t, "a b c d")
	l.refuse("a a a")
	for range 100 {
		l.signal("")
	}
	l.want("a=down b=ready c=ready d=ready")
	l.wantMode("Hold NoNodes")
}

func TestContract13DripEmptiesNothing(t *testing.T) {
	l := running(t, "a b c d")
	l.play([]step{
		{"one", func(l *lab) { l.read("b c d") }, "a=draining b=ready c=ready d=ready"},
		{"two, half of all", func(l *lab) { l.wait(time.Second); l.read("c d") }, "a=draining b=draining c=ready d=ready"},
		{"the third is one too many", func(l *lab) { l.wait(time.Second); l.read("d") }, "a=ready b=ready c=ready d=ready"},
		{"and so is the fourth", func(l *lab) { l.wait(time.Second); l.read("") }, "a=ready b=ready c=ready d=ready"},
	})
}

func TestContract13AnnouncedEndpointsDrainAndAreNotRemovedWhileTheyPass(t *testing.T) {
	l := running(t, "a b c d")
	l.policy.Threshold = 2
	l.play([]step{
		{"rejected", func(l *lab) { l.read("a! b! d") }, "a=draining b=draining c=ready d=ready"},
		{"no time is too long", func(l *lab) { l.wait(time.Hour) }, "a=draining b=draining c=ready d=ready"},
		{"the announcement outlives an inventory that leaves the node out", func(l *lab) { l.signal("d") }, "a=draining b=draining c=ready d=ready"},
		{"nor are many inventories enough", func(l *lab) { l.reads(20, "d") }, "a=draining b=draining c=ready d=ready"},
		{"one dies", func(l *lab) { l.refuse("a a a") }, "a=down b=draining c=ready d=ready"},
		{"and goes", func(l *lab) { l.reads(2, "d") }, "b=draining c=ready d=ready"},
	})
}

func TestContract13AnnouncedMembersStayReadyWhereNothingElseIs(t *testing.T) {
	l := running(t, "a b")
	l.play([]step{
		{"all announced", func(l *lab) { l.read("a! b!") }, "a=ready b=ready"},
		{"a replacement is not there yet", func(l *lab) { l.read("a! b! c") }, "a=ready b=ready"},
		{"it passes once", func(l *lab) { l.pass("c") }, "a=ready b=ready c=ready"},
		{"now it is", func(l *lab) { l.pass("c") }, "a=draining b=draining c=ready"},
		{"it dies", func(l *lab) { l.refuse("c c c") }, "a=ready b=ready c=down"},
	})
	l.wantReason("a", inventory.ReadyHeld, "announced", "MAX_REMOVAL_PERCENT=50")
}

func TestContract13AnnouncedMembersStayReadyWhereEverythingElseIsDead(t *testing.T) {
	l := running(t, "a b c d")
	l.play([]step{
		{"announced, missing, listed", func(l *lab) { l.read("a! b! d") }, "a=draining b=draining c=ready d=ready"},
		{"the listed one dies", func(l *lab) { l.refuse("d d d") }, "a=draining b=draining c=ready d=down"},
		{"so does the one that is left out", func(l *lab) { l.refuse("c c c") }, "a=ready b=ready c=down d=down"},
		{"the listed one is back", func(l *lab) { l.pass("d d") }, "a=draining b=draining c=down d=ready"},
	})
}

func TestContract13InventoryThatLeavesNothingInPlaceIsRejected(t *testing.T) {
	l := running(t, "a")
	l.policy.Threshold = 2
	l.read("a!")
	l.want("a=ready")
	l.wantMode("Hold NothingStays")
	l.reads(20, "a!")
	l.wait(time.Hour)
	l.want("a=ready")
	l.wantMode("Hold NothingStays")
}

func TestContract13InventoryThatContradictsItselfIsRejected(t *testing.T) {
	l := running(t, "a b c d")
	l.duplicate("a b c d x")
	l.wantMode("Publish")
	if got := l.verdict.Memory.Rejected(); got != 0 {
		t.Errorf("got %d rejected inventories, want 0: this one takes nothing away", got)
	}
	l.duplicate("b c d")
	l.want("a=ready b=ready c=ready d=ready")
	l.wantMode("Hold ContradictoryRead")
	if got := l.verdict.Message; !strings.Contains(got, "gives 10.0.0.2 to two nodes") {
		t.Errorf("got message %q, want it to name the address that two nodes have", got)
	}
	l.read("b c d")
	l.want("a=draining b=ready c=ready d=ready")
}
