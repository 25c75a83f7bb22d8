package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

func TestContract13IsSuspectAboveTheLargerOfOneAndThePercentage(t *testing.T) {
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
		read  guard.Read
		mode  string
		parts []string
	}{
		{"no node", guard.Read{Scheduled: true}, "Hold NoNodes", []string{"no node", "3 IPv4 members"}},
		{"no node that passes the filter", guard.Read{Nodes: 7, Scheduled: true}, "Hold NothingPassesFilter", []string{"7 nodes", "filter"}},
		{"one of three", reading("a"), "Hold TooManyRemovals", []string{"2 of 3", "MAX_REMOVAL_PERCENT=50"}},
		{"by a change signal", guard.Read{Nodes: 0}, "Hold NoNodes", []string{"0 scheduled"}},
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
	l.decide(&guard.Read{Nodes: 3, Scheduled: true})
	l.wantMode("Publish")
}

func TestContract13AddsFromASuspectReadAtOnce(t *testing.T) {
	l := running(t, "a b c d")
	l.read("d x y")
	l.pass("x")
	l.want("a=ready b=ready c=ready d=ready x=ready")
	l.wantMode("Hold TooManyRemovals")
}

func TestContract13BelievesTheReadOfTheThresholdAndNoneBefore(t *testing.T) {
	for _, threshold := range []int{1, 2, 3, 10} {
		l := running(t, "a b c d")
		l.policy.Threshold = threshold
		l.reads(threshold-1, "d")
		l.want("a=ready b=ready c=ready d=ready")
		if got := l.verdict.Memory.SuspectReads(); got != threshold-1 {
			t.Errorf("got %d suspect reads, want %d", got, threshold-1)
		}
		l.read("d")
		l.want("a=draining b=draining c=draining d=ready")
		l.wantMode("Publish")
		l.wait(30 * time.Second)
		l.want("d=ready")
		l.read("d")
		if got := l.verdict.Memory.SuspectReads(); got != 0 {
			t.Errorf("got %d suspect reads after one that is not suspect, want 0", got)
		}
	}
}

func TestContract13NeverBelievesWithThresholdZero(t *testing.T) {
	l := running(t, "a b c d")
	l.policy.Threshold = 0
	l.reads(100, "")
	l.want("a=ready b=ready c=ready d=ready")
	l.wantMode("Hold NoNodes")
	if !strings.Contains(l.verdict.Message, "never believed (EMPTY_RESULT_THRESHOLD=0)") {
		t.Errorf("got message %q", l.verdict.Message)
	}
}

func TestContract13CountsConsecutiveSuspectReads(t *testing.T) {
	tests := []struct {
		name    string
		between func(l *lab)
		want    string
	}{
		{"an error between them resets nothing", func(l *lab) { l.wait(time.Minute) }, "a=draining b=draining c=draining d=ready"},
		{"a read that is not suspect resets", func(l *lab) { l.read("a b c d") }, "a=ready b=ready c=ready d=ready"},
		{"one that a signal brought resets as well", func(l *lab) { l.signal("a b c d") }, "a=ready b=ready c=ready d=ready"},
		{"a suspect read that a signal brought counts for nothing", func(l *lab) { l.signal("d") }, "a=draining b=draining c=draining d=ready"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := running(t, "a b c d")
			l.policy.Threshold = 3
			l.reads(2, "d")
			test.between(l)
			l.read("d")
			l.want(test.want)
		})
	}
}

func TestContract13BelievesOfEachMemberByItself(t *testing.T) {
	l := running(t, "a b c d e f")
	l.policy.Threshold = 3
	l.play([]step{
		{"five missing", func(l *lab) { l.reads(2, "f") }, "a=ready b=ready c=ready d=ready e=ready f=ready"},
		{"c, d and e a third time, f for the first", func(l *lab) { l.read("a b") }, "a=ready b=ready c=draining d=draining e=draining f=ready"},
		{"a and b begin anew, f goes on", func(l *lab) { l.read("x") }, "a=ready b=ready c=draining d=draining e=draining f=ready"},
		{"f for the third time", func(l *lab) { l.read("x") }, "a=ready b=ready c=draining d=draining e=draining f=draining"},
		{"a and b for the third time", func(l *lab) { l.read("x") }, "a=draining b=draining c=draining d=draining e=draining f=draining"},
	})
}

func TestContract13DoesNotBelieveABurstOfSignals(t *testing.T) {
	l := running(t, "a b c d")
	for range 100 {
		l.signal("")
	}
	l.want("a=ready b=ready c=ready d=ready")
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

func TestContract13CountsWhatTheThresholdSettledNoMore(t *testing.T) {
	l := running(t, "a b c d e")
	l.policy.Threshold = 2
	l.reads(2, "d e")
	l.want("a=draining b=draining c=draining d=ready e=ready")
	l.read("e")
	l.want("a=draining b=draining c=draining d=draining e=ready")
	l.wantMode("Publish")
	l.read("")
	l.wantMode("Hold NoNodes")
	l.want("a=draining b=draining c=draining d=ready e=ready")
}

func TestContract13AnnouncedMembersDrainAtOnceAndGoWhenBelieved(t *testing.T) {
	l := running(t, "a b c d")
	l.policy.Threshold = 2
	l.play([]step{
		{"suspect", func(l *lab) { l.read("a! b! d") }, "a=draining b=draining c=ready d=ready"},
		{"no time is too long", func(l *lab) { l.wait(time.Hour) }, "a=draining b=draining c=ready d=ready"},
		{"the announcement outlives a read that has forgotten the node", func(l *lab) { l.signal("d") }, "a=draining b=draining c=ready d=ready"},
		{"believed", func(l *lab) { l.read("d") }, "a=draining b=draining c=draining d=ready"},
		{"drained", func(l *lab) { l.wait(30 * time.Second) }, "d=ready"},
	})
}

func TestContract13AnnouncedMembersStayReadyWhereNothingElseIs(t *testing.T) {
	l := running(t, "a b")
	l.play([]step{
		{"all announced", func(l *lab) { l.read("a! b!") }, "a=ready b=ready"},
		{"a replacement is not there yet", func(l *lab) { l.read("a! b! c") }, "a=ready b=ready"},
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
		{"the missing one, which nothing confirms", func(l *lab) { l.refuse("c c c") }, "a=ready b=ready c=ready d=down"},
		{"the listed one is back", func(l *lab) { l.pass("d d") }, "a=draining b=draining d=ready"},
	})
}

func TestContract13ReadThatLeavesNothingInPlaceIsSuspect(t *testing.T) {
	l := running(t, "a")
	l.policy.Threshold = 2
	l.read("a!")
	l.want("a=ready")
	l.wantMode("Hold NothingStays")
	l.read("a!")
	l.want("a=draining")
	l.wait(30 * time.Second)
	l.want("")
	l.read("a!")
	l.wantMode("Publish")
}

func TestContract13ReadThatContradictsItselfIsSuspect(t *testing.T) {
	l := running(t, "a b c d")
	l.duplicate("a b c d x")
	l.wantMode("Publish")
	if got := l.verdict.Memory.SuspectReads(); got != 0 {
		t.Errorf("got %d suspect reads, want 0: this one takes nobody away", got)
	}
	l.duplicate("b c d")
	l.want("a=ready b=ready c=ready d=ready")
	l.wantMode("Hold ContradictoryRead")
	l.read("b c d")
	l.want("a=draining b=ready c=ready d=ready")
}
