package guard_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

func TestContract15ReplacingTheOnlyNodeFailsNothingOpen(t *testing.T) {
	for _, drain := range []time.Duration{0, 30 * time.Second} {
		l := running(t, "a")
		l.policy.DrainPeriod = drain
		l.play([]step{
			{"replaced", func(l *lab) { l.read("z") }, "a=ready"},
			{"the new one is not checked for long", func(l *lab) { l.wait(5 * time.Second) }, "a=ready"},
		})
		l.wantMode("Publish")
		l.wantReason("a", inventory.ReadyDraining)
		l.play([]step{{"it passes", func(l *lab) { l.pass("z") }, "a=ready z=ready"}})
		l.pass("z")
		l.wait(drain)
		l.want("z=ready")
		l.wantMode("Publish")
	}
}

func TestContract15WaitsForAFirstCheckOfEachPresentEndpoint(t *testing.T) {
	waiting := func(t *testing.T) *lab {
		l := running(t, "a b c")
		l.read("a b c x y")
		l.refuse("a a a b b b c c c")
		l.want("a=down b=down c=ready")
		l.wantMode("Publish")
		l.wantReason("c", inventory.ReadyFailing, "until each endpoint has been checked once")
		return l
	}
	t.Run("until all failed", func(t *testing.T) {
		l := waiting(t)
		l.refuse("x")
		l.want("a=down b=down c=ready")
		l.silence("y")
		l.want("a=ready b=ready c=ready x=ready y=ready")
		l.wantMode("FailOpen NothingPasses")
	})
	t.Run("until our own troubles kept us from checking", func(t *testing.T) {
		l := waiting(t)
		l.refuse("x")
		l.trouble("y")
		l.wantMode("FailOpen NothingPasses")
	})
	t.Run("until one passed", func(t *testing.T) {
		l := waiting(t)
		l.pass("x")
		l.want("a=down b=down c=down x=ready")
		l.wantMode("Publish")
	})
	t.Run("for FALL intervals, however many come later", func(t *testing.T) {
		l := waiting(t)
		end := l.now.Add(6 * time.Second)
		if got := l.verdict.Next; !got.Equal(end) {
			t.Errorf("got next %s, want %s", got, end)
		}
		l.wait(3 * time.Second)
		l.signal("a b c x y z")
		l.wait(3*time.Second - 1)
		l.want("a=down b=down c=ready")
		l.wait(1)
		l.want("a=ready b=ready c=ready x=ready y=ready z=ready")
		l.wantMode("FailOpen NothingPasses")
	})
	t.Run("without failing open nothing stays ready meanwhile", func(t *testing.T) {
		l := running(t, "a b")
		l.policy.FailOpen = false
		l.read("a b x")
		l.refuse("a a a b b b")
		l.want("a=down b=down")
		l.refuse("x x x")
		l.want("a=down b=down x=down")
	})
}

// TestContract15StaysOpenUntilOnePassesWhateverTheInventoryAnnounces: one that is
// announced to leave by a rejected inventory is failing open like the others.
func TestContract15StaysOpenUntilOnePassesWhateverTheInventoryAnnounces(t *testing.T) {
	l := running(t, "a b")
	l.read("a! x")
	l.wantMode("Hold TooManyRemovals")
	l.refuse("a b x a b x a b x")
	for range 20 {
		l.want("a=ready b=ready x=ready")
		l.wantMode("FailOpen NothingPasses")
		l.refuse("a b x")
	}
	l.pass("a")
	l.want("a=ready b=ready x=ready")
	l.wantMode("Hold TooManyRemovals")
	l.refuse("b x b x b x")
	l.want("a=ready b=down x=down")
}

func TestContract15DrainingEndpointsThatPassAreReadyWhereNothingElseIs(t *testing.T) {
	t.Run("until a present one has passed RISE times", func(t *testing.T) {
		l := running(t, "a b c d")
		l.play([]step{
			{"two drain", func(l *lab) { l.read("c d") }, "a=draining b=draining c=ready d=ready"},
			{"the others die", func(l *lab) { l.refuse("c c c d d d") }, "a=ready b=ready c=down d=down"},
			{"no time is too long", func(l *lab) { l.wait(time.Hour) }, "a=ready b=ready c=down d=down"},
			{"one drains no more", func(l *lab) { l.refuse("a a a") }, "a=down b=ready c=down d=down"},
			{"one is back", func(l *lab) { l.pass("c") }, "a=down b=ready c=down d=down"},
			{"for good", func(l *lab) { l.pass("c") }, "b=draining c=ready d=down"},
			{"and the other has drained", func(l *lab) { l.wait(30 * time.Second) }, "c=ready d=down"},
		})
	})
	t.Run("after a restart", func(t *testing.T) {
		l := restarted(t, "a=draining b=down")
		l.play([]step{
			{"nothing is known", func(l *lab) { l.wait(time.Second) }, "a=draining b=down"},
			{"it passes", func(l *lab) { l.pass("a") }, "a=ready b=down"},
			{"the inventory leaves it out", func(l *lab) { l.read("b") }, "a=ready b=down"},
			{"b is back", func(l *lab) { l.pass("b b") }, "a=draining b=ready"},
		})
	})
	t.Run("also where it was ready before the restart, and the new one is wrong", func(t *testing.T) {
		l := restarted(t, "a=ready")
		l.play([]step{
			{"the inventory comes first", func(l *lab) { l.read("z") }, "a=ready"},
			{"the wrong one fails", func(l *lab) { l.refuse("z z z z") }, "a=ready"},
			{"no time is too long", func(l *lab) { l.wait(time.Hour) }, "a=ready"},
			{"it passes", func(l *lab) { l.pass("a") }, "a=ready"},
			{"and restarts", func(l *lab) { l.refuse("a a a") }, "a=down z=ready"},
			{"and is back", func(l *lab) { l.pass("a a") }, "a=ready z=ready"},
		})
	})
	t.Run("not while they are dead", func(t *testing.T) {
		l := running(t, "a b")
		l.read("b")
		l.refuse("a a a")
		l.want("b=ready")
	})
}

func TestContract14EndpointsThatWereHeldNeverBecomeLongDead(t *testing.T) {
	l := running(t, "a b c d e")
	for range 400 {
		l.silence("a b c")
		l.now = l.now.Add(2 * time.Second)
	}
	l.want("a=ready b=ready c=ready d=ready e=ready")
}

func TestContract14LongDeadEndpointsLeaveBothCounts(t *testing.T) {
	dead := func(t *testing.T, after time.Duration) *lab {
		l := running(t, "a b c d e f")
		l.silence("a a a b b b c c c")
		l.want("a=down b=down c=down d=ready e=ready f=ready")
		l.wait(after)
		l.silence("a b c")
		return l
	}
	t.Run("not before five minutes", func(t *testing.T) {
		l := dead(t, 5*time.Minute)
		l.silence("d d d d")
		l.want("a=down b=down c=down d=ready e=ready f=ready")
	})
	t.Run("after them", func(t *testing.T) {
		l := dead(t, 5*time.Minute+1)
		l.silence("d d d")
		l.want("a=down b=down c=down d=down e=ready f=ready")
		l.wait(10 * time.Second)
		l.silence("e e e")
		l.want("a=down b=down c=down d=down e=ready f=ready")
	})
	t.Run("not by time alone", func(t *testing.T) {
		l := running(t, "a b c d e f")
		l.silence("a a a b b b c c c")
		l.wait(time.Hour)
		l.silence("d d d d")
		l.want("a=down b=down c=down d=ready e=ready f=ready")
	})
	t.Run("and come back by RISE passes", func(t *testing.T) {
		l := dead(t, time.Hour)
		l.pass("a a")
		l.want("a=ready b=down c=down d=ready e=ready f=ready")
	})
	t.Run("even where FALL intervals are longer", func(t *testing.T) {
		l := running(t, "a b c")
		l.policy.Interval = 4 * time.Minute
		l.silence("a a a")
		l.wait(12 * time.Minute)
		l.silence("a")
		l.wait(time.Minute)
		l.silence("b b b")
		l.want("a=down b=ready c=ready")
		l.silence("a b b b")
		l.want("a=down b=down c=ready")
	})
}
