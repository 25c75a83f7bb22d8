package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// An answer to failures that were put down to the prober takes no later refusal away.
func TestContract239AnAnswerToOldSilenceTakesNoRefusalAway(t *testing.T) {
	l := running(t, "a b c d")
	l.policy.Fall = 4
	l.lose("a b c")
	l.lose("a b c") // cut off: these do not count
	l.pass("b c d")
	l.wait(10 * time.Second) // and b and c are silent no longer
	l.pass("b c d")
	l.refuse("a a")
	l.lose("a")
	l.elsewhere("a")
	l.want(ready("a b c d"))
	l.refuse("a a")
	l.want("a=down b=ready c=ready d=ready")
}

// runSlow runs with a standby whose answers come late.
func (r *twoReplicas) runSlow(lasts, lag time.Duration) {
	type late struct {
		at     time.Duration
		result inventory.Result
	}
	var queue []late
	fast := r.standby
	told := map[string]int{}
	r.standby = func(string, time.Duration) inventory.Outcome { return inventory.LocalError }
	for end := r.since + lasts; r.since < end; {
		r.run(50 * time.Millisecond)
		for _, a := range r.verdict.Asks {
			name := nameOf(a.Address)
			if fast(name, r.since) == inventory.Pass && told[name] != a.Failures {
				told[name] = a.Failures
				queue = append(queue, late{r.since + lag, inventory.Result{Address: a.Address, At: a.At, Outcome: inventory.Elsewhere, Failures: a.Failures, Message: "replica-b"}})
			}
		}
		for len(queue) > 0 && queue[0].at <= r.since {
			r.deliver(queue[0].result)
			queue = queue[1:]
		}
	}
}

// A leader that loses all, whose standby misses a and f: a is not taken for the only one before
// the leader has checked f again.
func TestContract239OfTwoThatNoReplicaReachesNoneGoesDown(t *testing.T) {
	l := running(t, "a b c d e f")
	l.now = l.now.Add(2 * time.Second)
	l.lose("a b c d e")
	l.elsewhere("b c d e")
	for range 3 {
		l.now = l.now.Add(500 * time.Millisecond)
		l.lose("a")
	}
	streak := l.health.Of(addr("a"))
	missed := inventory.Result{Address: addr("a"), At: streak.Last.At, Outcome: inventory.Elsewhere, Failures: streak.Unconnected.Failures, Message: "replica-b", Missed: true}
	l.lose("b c d e")
	l.elsewhere("b c d e")
	l.deliver(missed)
	l.want(ready("a b c d e f"))
	l.lose("f f f")
	l.want(ready("a b c d e f"))
}

// A standby that loses one after the other, while the leader reaches nothing: it takes one down, and
// not all in turn.
func TestContract239AStandbyThatLosesOneAfterTheOtherTakesOneDown(t *testing.T) {
	l := running(t, "a b c d e f")
	for _, name := range []string{"a", "b", "c", "d"} {
		for range 3 {
			l.now = l.now.Add(500 * time.Millisecond)
			l.lose("a b c d e f")
			for _, other := range []string{"a", "b", "c", "d", "e", "f"} {
				if other > name {
					l.elsewhere(other)
				} else if streak := l.health.Of(addr(other)); streak.SilentSince.Before(l.now) {
					l.deliver(inventory.Result{Address: addr(other), At: streak.Last.At, Outcome: inventory.Elsewhere, Failures: streak.Unconnected.Failures, Message: "replica-b", Missed: true})
				}
			}
		}
	}
	if down := strings.Count(l.states(), "down"); down > 1 {
		t.Errorf("got %d down (%s), want one at most: the standby lost the others within six seconds", down, l.states())
	}
}

// A standby whose answers are slow.
func TestContract239ASlowStandbyTakesNothingDown(t *testing.T) {
	for _, lag := range []time.Duration{0, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second} {
		all := letters(6)
		r := &twoReplicas{lab: running(t, all), backends: strings.Fields(all), leader: reaches("", nil), standby: reaches(all, nil)}
		r.runSlow(time.Minute, lag)
		if len(r.downs) > 0 {
			t.Errorf("answers come after %s: got down %v, want none", lag, r.downs)
		}
	}
}
