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

// TestContract15ADrainingEndpointThatIsReadyAfterARestartIsReplacedByOneThatRises: being published
// ready does not make it one that stays.
func TestContract15ADrainingEndpointThatIsReadyAfterARestartIsReplacedByOneThatRises(t *testing.T) {
	l := restarted(t, "a=draining b=down")
	l.pass("a")
	l.want("a=ready b=down")
	l.wantReason("a", inventory.ReadyDraining)
	l.pass("a")
	l.wantReason("a", inventory.ReadyDraining)
	l.wait(time.Minute)
	l.wantMode("Hold NothingPasses")
	l.pass("b")
	l.want("a=ready b=down")
	l.pass("b")
	l.want("a=draining b=ready")
	l.wantMode("Publish")
	l.wait(20 * time.Second)
	l.read("b")
	l.wait(9 * time.Second)
	l.want("a=draining b=ready")
	l.wait(21 * time.Second)
	l.want("b=ready")
}

func TestContract28RestartChangesNothing(t *testing.T) {
	const published = "a=ready b=draining c=down d=ready"
	faults := map[string]func(l *lab){
		"source down":                           func(l *lab) { l.wait(time.Hour) },
		"every probe refused":                   func(l *lab) { l.refuse("a b c d a b c d a b c d a b c d") },
		"every probe silent":                    func(l *lab) { l.silence("a b c d a b c d a b c d a b c d") },
		"every probe in trouble":                func(l *lab) { l.trouble("a b c d a b c d a b c d a b c d") },
		"refused and silent":                    func(l *lab) { l.silence("a b a b a b a b"); l.refuse("c d c d c d c d") },
		"listed as before, every probe refused": func(l *lab) { l.read("a b c d"); l.refuse("a b c d a b c d a b c d a b c d") },
		"empty read, every probe refused":       func(l *lab) { l.read(""); l.refuse("a b c d a b c d a b c d a b c d") },
		"empty read, nothing probed":            func(l *lab) { l.read("") },
	}
	for name, happens := range faults {
		t.Run(name, func(t *testing.T) {
			l := restarted(t, published)
			l.policy.Threshold = 0
			l.want(published)
			for range 10 {
				happens(l)
				l.want(published)
			}
		})
	}
}

func TestContract28FailuresTakeNoEndpointDownBeforeACheckHasPassed(t *testing.T) {
	l := restarted(t, "a=ready b=ready c=ready")
	l.refuse("a a a a a")
	l.want("a=ready b=ready c=ready")
	l.wantMode("Publish")
	l.wantReason("a", inventory.ReadyFailing, "Refused, 5 times in a row", "do not count", "since the start", "HEALTH_CHECK_FALL=3")
	l.refuse("b b b c c")
	l.wantMode("Publish")
	l.refuse("c")
	l.wantMode("FailOpen NothingPasses")
	l.wantReason("a", inventory.ReadyFailOpen, "since the start", "HEALTH_CHECK_FAIL_OPEN=true")
	l.refuse("a b c a b c")
	l.wantMode("FailOpen NothingPasses")
	l.pass("c")
	l.wantMode("Publish")
	l.want("a=ready b=ready c=ready")
}

func TestContract28DemotedMembersNeedFallFreshFailures(t *testing.T) {
	t.Run("after a pass of another", func(t *testing.T) {
		l := restarted(t, "a=ready b=ready c=ready d=ready")
		l.refuse("a a")
		l.pass("b c d")
		l.refuse("a a")
		l.want("a=ready b=ready c=ready d=ready")
		l.refuse("a")
		l.want("a=down b=ready c=ready d=ready")
	})
	t.Run("without failing open, from the start", func(t *testing.T) {
		l := newLab(t)
		l.policy.FailOpen = false
		l.restart("a=ready b=ready c=ready d=ready")
		l.refuse("a a")
		l.want("a=ready b=ready c=ready d=ready")
		l.refuse("a")
		l.want("a=down b=ready c=ready d=ready")
	})
}

func TestContract28DownMemberNeedsRisePassesAfterARestart(t *testing.T) {
	l := restarted(t, "a=ready b=down")
	l.pass("a b")
	l.want("a=ready b=down")
	l.wantReason("b", inventory.ProbePending, "pass 1 of HEALTH_CHECK_RISE=2 in a row: still down")
	l.pass("b")
	l.want("a=ready b=ready")
}

func TestContract28DrainingMemberAfterARestart(t *testing.T) {
	t.Run("drains anew when a read confirms that it leaves", func(t *testing.T) {
		l := restarted(t, "a=draining b=ready c=ready")
		l.pass("a b c b c")
		l.want("a=draining b=ready c=ready")
		l.read("b c")
		l.wait(30*time.Second - 1)
		l.want("a=draining b=ready c=ready")
		l.wait(1)
		l.want("b=ready c=ready")
	})
	for since, left := range map[time.Duration]time.Duration{-20 * time.Second: 10 * time.Second, -time.Hour: 0, time.Hour: 30 * time.Second} {
		t.Run(fmt.Sprintf("Contract228 drains on since %s", since), func(t *testing.T) {
			l := newLab(t)
			l.past = drainsSince(l.now.Add(since), "a b")
			l.restart("a=draining b=ready c=ready")
			l.pass("a b c b c")
			l.read("b c")
			if left > 0 {
				l.wait(left - 1)
				l.want("a=draining b=ready c=ready")
				l.wait(1)
			}
			l.want("b=ready c=ready")
		})
	}
	t.Run("drains anew after it was listed", func(t *testing.T) {
		l := newLab(t)
		l.past = drainsSince(l.now.Add(-time.Hour), "a")
		l.restart("a=draining b=ready c=ready")
		l.pass("a b c b c")
		l.read("a b c")
		l.want("a=ready b=ready c=ready")
		l.read("b c")
		l.want("a=draining b=ready c=ready")
	})
	t.Run("is ready when a read lists it and it passes", func(t *testing.T) {
		l := restarted(t, "a=draining b=ready c=ready")
		l.read("a b c")
		l.want("a=draining b=ready c=ready")
		l.pass("a")
		l.want("a=ready b=ready c=ready")
	})
	t.Run("goes when it fails and others pass", func(t *testing.T) {
		l := restarted(t, "a=draining b=ready c=ready")
		l.pass("b")
		l.refuse("a a")
		l.want("a=draining b=ready c=ready")
		l.refuse("a")
		l.want("b=ready c=ready")
	})
	t.Run("stays when it fails and nothing else is known to work", func(t *testing.T) {
		l := restarted(t, "a=draining b=ready c=ready")
		l.pass("a")
		l.refuse("a a a a")
		l.want("a=draining b=ready c=ready")
	})
}

func TestContract28DrainingMemberAfterARestartIsNotAmongThePresent(t *testing.T) {
	l := newLab(t)
	l.policy.FailOpen = false
	l.restart("a=draining b=ready")
	l.silence("b b b b")
	l.want("a=draining b=ready")
	l.wantMode("Hold ProbesSilent")
}

func TestContract28RemovalsAreJudgedAcrossARestart(t *testing.T) {
	l := restarted(t, "a=draining b=ready c=ready")
	l.pass("a b c")
	l.read("c")
	l.want("a=ready b=ready c=ready")
	l.wantMode("Hold TooManyRemovals")
}

func TestContract28AllDownFailsOpenOnceAllFail(t *testing.T) {
	l := restarted(t, "a=down b=down")
	l.want("a=down b=down")
	l.read("a b")
	l.silence("a b a b a")
	l.want("a=down b=down")
	l.silence("b")
	l.want("a=ready b=ready")
	l.wantMode("FailOpen NothingPasses")
}

func TestContract28MemberThatTheFilterRefusesTodayCountsAsMissing(t *testing.T) {
	l := restarted(t, "a=ready b=ready c=ready d=ready")
	l.pass("b c d b c d")
	read := reading("b c d")
	read.Nodes = 4
	l.decide(&read)
	l.want("b=ready c=ready d=ready")
}

func TestContract28RecoverCountsAnAddressOnceWithTheBetterState(t *testing.T) {
	l := restarted(t, "c=down a=down b=draining a=ready b=down a=draining x=absent")
	l.want("a=ready b=draining c=down")
}

func TestContract28RecoverOfNothingIsANewInstall(t *testing.T) {
	l := newLab(t)
	l.verdict.Memory = guard.Recover(nil, l.now, nil, nil)
	l.read("a b")
	l.pass("a")
	l.want("a=ready")
}

func TestContract01SourceErrorChangesNoMemberButHealthDoes(t *testing.T) {
	l := running(t, "a b c d")
	l.read("a b c d x")
	for range 100 {
		l.wait(time.Minute)
		l.want("a=ready b=ready c=ready d=ready")
	}
	l.refuse("a a a")
	l.pass("x")
	l.want("a=down b=ready c=ready d=ready x=ready")
	l.pass("a a")
	l.want("a=ready b=ready c=ready d=ready x=ready")
}

// An address that may not be checked any more goes after the threshold; one that may be is kept.
func TestContract06OnlyWhatMayNotBeCheckedGoesUncheckedAfterTheThreshold(t *testing.T) {
	l := newLab(t)
	l.policy.Threshold, l.forbidden = 3, map[netip.Addr]bool{addr("a"): true}
	l.restart("a=ready b=ready c=ready d=ready")
	l.reads(3, "d")
	l.pass("d d")
	l.reads(3, "d")
	l.want("b=ready c=ready d=ready")
}

// TestContract32AJumpOfTheClockEndsNoDrainThatGoesOnAfterARestart: when it began is a time of day,
// as slices say it. What follows is measured by the clock that cannot be set.
func TestContract32AJumpOfTheClockEndsNoDrainThatGoesOnAfterARestart(t *testing.T) {
	l := newLab(t)
	l.now = time.Now()
	began := l.now.Round(0).Add(-20 * time.Second)
	l.past = drainsSince(began, "a")
	l.restart("a=draining b=ready c=ready")
	l.pass("a b c b c")
	l.read("b c")
	l.want("a=draining b=ready c=ready")
	if got, want := l.verdict.Next, began.Add(l.policy.DrainPeriod); !got.Equal(want) || !strings.Contains(got.String(), " m=") {
		t.Errorf("got that it drains until %v, want %v by the monotonic clock", got, want)
	}
}

// TestContract13WhatARejectedInventoryBroughtIsSuchWhereAGroupBeginsAnew: otherwise a wrong inventory
// whose endpoints answer would take the right ones away as soon as a document changes.
func TestContract13WhatARejectedInventoryBroughtIsSuchWhereAGroupBeginsAnew(t *testing.T) {
	l := running(t, "a b c")
	l.read("d e f")
	l.pass("d e f d e f")
	l.wantMode("Hold TooManyRemovals")
	for range 3 {
		l.anew()
		l.pass("a b c d e f a b c d e f")
		l.signal("d e f")
		l.want(ready("a b c d e f"))
		l.wantMode("Hold TooManyRemovals")
	}
	l.read("a b c d e f")
	l.anew()
	l.pass("a b c d e f a b c d e f")
	l.read("d e f")
	l.want("a=draining b=draining c=draining " + ready("d e f"))
}

// TestContract14LongSilenceIsKnownWhereAGroupBeginsAnew: otherwise endpoints that are long dead would hide
// for minutes that another one died.
func TestContract14LongSilenceIsKnownWhereAGroupBeginsAnew(t *testing.T) {
	l := running(t, "a b c d e f")
	for _, dead := range []string{"a b", "c d"} {
		for range 4 {
			l.silence(dead)
		}
		for range 8 {
			l.now = l.now.Add(time.Minute)
			l.silence("a b " + dead)
			l.pass("e f")
		}
	}
	const dead = "a=down b=down c=down d=down "
	l.want(dead + "e=ready f=ready")
	l.anew()
	l.pass("e f")
	l.silence("a b c d")
	l.read("a b c d e f")
	for range 4 {
		l.now = l.now.Add(time.Second)
		l.silence("f a b c d")
		l.pass("e")
	}
	l.want(dead + "e=ready f=down")
}
