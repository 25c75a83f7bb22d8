package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

func TestContract15PublishesAllPresentWhenHealthWouldLeaveNothingReady(t *testing.T) {
	l := running(t, "a b c")
	l.read("a b c x")
	l.refuse("a a a b b b")
	l.want("a=down b=down c=ready")
	l.refuse("c c")
	l.want("a=down b=down c=ready")
	l.wantMode("Publish")
	l.refuse("c x")
	l.want("a=ready b=ready c=ready x=ready")
	l.wantMode("FailOpen NothingPasses")
	l.wantReason("a", inventory.ReadyFailOpen, "HEALTH_CHECK_FAIL_OPEN=true")
	l.wantReason("x", inventory.ReadyFailOpen)
	if !strings.Contains(l.verdict.Message, "HEALTH_CHECK_RISE=2") {
		t.Errorf("got message %q, want it to say when it ends", l.verdict.Message)
	}
	l.refuse("a b c x a b c x a b c x a b c x")
	l.want("a=ready b=ready c=ready x=ready")
}

func TestContract15EndsWhenOnePassesRiseTimes(t *testing.T) {
	failing := func(t *testing.T) *lab {
		l := running(t, "a b c")
		l.refuse("a b c a b c a b c a b c")
		l.wantMode("FailOpen NothingPasses")
		return l
	}
	t.Run("not before", func(t *testing.T) {
		l := failing(t)
		l.pass("b")
		l.wantMode("FailOpen NothingPasses")
		l.refuse("b")
		l.pass("b")
		l.wantMode("FailOpen NothingPasses")
		l.pass("b")
		l.wantMode("Publish")
	})
	t.Run("then the others need FALL fresh failures", func(t *testing.T) {
		l := failing(t)
		l.pass("b b")
		l.want("a=ready b=ready c=ready")
		l.wantMode("Publish")
		l.refuse("a a")
		l.want("a=ready b=ready c=ready")
		l.refuse("a")
		l.want("a=down b=ready c=ready")
		l.silence("c c c")
		l.want("a=down b=ready c=down")
		l.refuse("b b b")
		l.wantMode("FailOpen NothingPasses")
	})
	t.Run("a leaving one that passes is ready in their place", func(t *testing.T) {
		l := failing(t)
		l.read("a! b c")
		l.pass("a")
		l.want("a=ready b=ready c=ready")
		l.wantMode("Hold NothingPasses")
		l.wantReason("a", inventory.ReadyDraining, "announced to leave", "HEALTH_CHECK_RISE=2")
		l.refuse("b c b c b c")
		l.want("a=ready b=down c=down")
	})
	t.Run("new candidates are published meanwhile", func(t *testing.T) {
		l := failing(t)
		l.read("a b c x")
		l.want("a=ready b=ready c=ready x=ready")
		l.pass("x x")
		l.wantMode("Publish")
	})
}

func TestContract15DrainPeriodBeginsWhenALeavingEndpointIsReadyNoMore(t *testing.T) {
	standing := func(t *testing.T) *lab {
		l := running(t, "a b")
		l.refuse("b b b")
		l.read("a! b")
		l.wait(45 * time.Second)
		l.want("a=ready b=down")
		l.wantReason("a", inventory.ReadyDraining)
		l.pass("b b")
		l.want("a=draining b=ready")
		return l
	}
	t.Run("and lasts as long as any other", func(t *testing.T) {
		l := standing(t)
		if got, want := l.verdict.Next, l.now.Add(30*time.Second); !got.Equal(want) {
			t.Errorf("got the next decision at %s, want it at %s", got, want)
		}
		l.wait(29 * time.Second)
		l.want("a=draining b=ready")
		l.wait(time.Second)
		l.want("b=ready")
	})
	t.Run("and begins anew when it is ready once more", func(t *testing.T) {
		l := standing(t)
		l.wait(20 * time.Second)
		l.refuse("b b b")
		l.want("a=ready b=down")
		l.pass("b b")
		l.wait(29 * time.Second)
		l.want("a=draining b=ready")
		l.wait(time.Second)
		l.want("b=ready")
	})
	t.Run("and there is none with DRAIN_PERIOD=0", func(t *testing.T) {
		l := newLab(t)
		l.policy.DrainPeriod = 0
		l.read("a b")
		l.pass("a b a b")
		l.refuse("b b b")
		l.read("a! b")
		l.want("a=ready b=down")
		l.pass("b b")
		l.want("b=ready")
	})
}

func TestContract15NewInstallWaitsForFallRounds(t *testing.T) {
	for _, outcome := range []inventory.Outcome{inventory.Refused, inventory.Silent} {
		l := newLab(t)
		l.read("a b c")
		l.probe("a b c a b c a b", outcome)
		l.want("")
		l.wantMode("Publish")
		l.probe("c", outcome)
		l.want("a=ready b=ready c=ready")
		l.wantMode("FailOpen NothingPasses")
		l.probe("a b c a b c a b c", outcome)
		l.want("a=ready b=ready c=ready")
		l.wantMode("FailOpen NothingPasses")
		l.pass("a")
		l.wantMode("FailOpen NothingPasses")
		l.pass("a")
		l.refuse("b c b c")
		l.want("a=ready b=ready c=ready")
		l.refuse("b c")
		l.want("a=ready b=down c=down")
	}
}

func TestContract15NewInstallWaitsForEveryCandidate(t *testing.T) {
	l := newLab(t)
	l.read("a b")
	l.refuse("a a a a a a a")
	l.want("")
	l.trouble("b")
	l.want("a=ready b=ready")
	l.wantMode("FailOpen NothingPasses")
}

func TestContract15NewInstallWaitsNoLongerThanFallChecksTake(t *testing.T) {
	l := newLab(t)
	l.read("a b") // b is never checked
	l.refuse("a a")
	l.wait(time.Minute)
	l.want("")
	l.refuse("a")
	l.want("a=ready b=ready")
	l.wantMode("FailOpen NothingPasses")
}

func TestContract15NewInstallWaitsForNoLeavingCandidate(t *testing.T) {
	l := newLab(t)
	l.read("a! b")
	l.pass("a")
	l.refuse("b b b")
	l.want("b=ready")
	l.wantMode("FailOpen NothingPasses")
}

func TestContract15OurOwnTroublesAloneFailNothingOpen(t *testing.T) {
	l := newLab(t)
	l.read("a b")
	l.trouble("a b a b a b a b")
	l.want("")
	l.wantMode("Publish")
}

func TestContract15WithoutFailOpenAllPresentAreDown(t *testing.T) {
	t.Run("published before", func(t *testing.T) {
		l := running(t, "a b c")
		l.policy.FailOpen = false
		l.refuse("a b c a b c a b c")
		l.want("a=down b=down c=down")
		l.wantMode("Publish")
		l.pass("a")
		l.want("a=down b=down c=down")
		l.pass("a")
		l.want("a=ready b=down c=down")
	})
	t.Run("new install", func(t *testing.T) {
		l := newLab(t)
		l.policy.FailOpen = false
		l.read("a b c")
		l.refuse("a b c a b c a b")
		l.want("")
		l.refuse("c")
		l.want("a=down b=down c=down")
		l.wantReason("a", inventory.ProbeRefused)
		l.wantMode("Publish")
	})
}

func TestContract15HealthAloneNeverEmpties(t *testing.T) {
	for _, failOpen := range []bool{true, false} {
		for _, outcome := range []inventory.Outcome{inventory.Refused, inventory.Silent} {
			l := running(t, "a b c")
			l.policy.FailOpen = failOpen
			for range 20 {
				l.probe("a b c", outcome)
				if got := len(l.verdict.Members); got != 3 {
					t.Fatalf("got %d members, want 3", got)
				}
			}
		}
	}
}

func TestContract15FailsOpenWhenTheLastServingMemberLeaves(t *testing.T) {
	t.Run("drained", func(t *testing.T) {
		l := running(t, "a b c")
		l.refuse("b b b c c c")
		l.read("b c")
		l.want("a=ready b=down c=down")
		l.refuse("b b b b c c c c")
		l.want("a=ready b=down c=down")
		l.wait(30 * time.Second)
		l.want("a=ready b=down c=down")
		l.wantMode("Hold NothingPasses")
	})
	t.Run("failing", func(t *testing.T) {
		l := running(t, "a b c")
		l.refuse("b b b c c c")
		l.read("b c x")
		l.refuse("x a a a")
		l.want("a=down b=ready c=ready x=ready")
		l.wantMode("FailOpen NothingPasses")
	})
	t.Run("still in the slices, but dead", func(t *testing.T) {
		l := running(t, "a b c")
		l.read("a! b! c")
		l.refuse("c c c")
		l.want("a=ready b=ready c=down")
		l.read("a! b! c x")
		l.pass("x")
		l.want("a=ready b=ready c=down x=ready")
		l.pass("x")
		l.want("a=draining b=draining c=down x=ready")
		l.refuse("a a b b x x x a b")
		l.want("a=ready b=ready c=ready x=ready")
		l.wantMode("FailOpen NothingPasses")
	})
	t.Run("silent ones are no exception", func(t *testing.T) {
		l := running(t, "a b c d e")
		l.silence("b b b c c c")
		l.want("a=ready b=down c=down d=ready e=ready")
		l.wait(time.Minute)
		l.read("b c d e")
		l.wait(time.Minute)
		l.read("b c e")
		l.wait(time.Minute)
		l.want("b=down c=down e=ready")
		l.read("b c")
		l.wait(30 * time.Second)
		l.want("b=down c=down e=ready")
		l.refuse("e e e")
		l.want("b=ready c=ready e=down")
		l.wantMode("FailOpen NothingPasses")
	})
}

func TestContract15HeldMembersThatWorkKeepItClosed(t *testing.T) {
	l := running(t, "a b c d")
	l.read("d")
	l.refuse("d d d")
	l.want("a=ready b=ready c=ready d=down")
	l.wantMode("Hold TooManyRemovals")
}

func TestContract15FailOpenThatMeetsARejectedInventoryKeepsAll(t *testing.T) {
	l := running(t, "a b c")
	l.refuse("a b c a b c a b c")
	l.read("")
	l.refuse("a b c a b c a b c a b c")
	l.want("a=ready b=ready c=ready")
	l.wantMode("FailOpen NothingPasses")
	l.read("a b c")
	l.want("a=ready b=ready c=ready")
	l.wantMode("FailOpen NothingPasses")
}
