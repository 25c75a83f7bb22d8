package guard_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

func TestContract239WhatIsKeptStaysWhereAnotherReplicaReachesIt(t *testing.T) {
	l := running(t, "a b c d")
	l.read("d")
	l.wantMode("Hold TooManyRemovals")
	for range 30 {
		l.lose("a")
		l.elsewhere("a")
		l.read("d")
	}
	l.want(ready("a b c d"))
	l.lose("a a a")
	l.want("a=down b=ready c=ready d=ready")
	l.reads(l.policy.Threshold, "d")
	l.want("b=ready c=ready d=ready")
}

func TestContract240WhatHasNoPodGoesThoughAnotherReplicaReachesIt(t *testing.T) {
	l := following(t, eight, "a b c d")
	l.place("b c d")
	for range 5 {
		l.lose("a")
		l.elsewhere("a")
	}
	l.want("a=draining b=ready c=ready d=ready")
	l.wait(l.policy.DrainPeriod)
	l.want(ready("b c d"))
}

// In a target with another pool that works, a pool that only another replica reaches is not what works,
// and stays published.
func TestContract240APoolThatOnlyAnotherReplicaReachesDoesNotWork(t *testing.T) {
	l := running(t, "a b")
	for range 5 {
		l.lose("a b")
		l.elsewhere("a b")
	}
	if got := l.verdict.Working(); got != (guard.WorkByFamily{}) || l.verdict.MayReplace() {
		t.Errorf("got %+v, may replace %t, want nothing that works", got, l.verdict.MayReplace())
	}
	if got := statesOf(l.verdict.Published(guard.WorkByFamily{IPv4: guard.ReadyWorks}, nil)); got != ready("a b") {
		t.Errorf("got %q beside a pool that works, want both ready", got)
	}
}

// What is silent for long proves nothing of the leader; a late answer lets it not return.
func TestContract240WhatIsSilentForLongStaysDown(t *testing.T) {
	l := running(t, "a b c")
	l.lose("a a a")
	for range 200 {
		l.now = l.now.Add(2 * time.Second)
		l.lose("a")
		l.elsewhere("a")
		l.pass("b c")
	}
	l.want("a=down b=ready c=ready")
	l.wantMode("Publish")
}

// The failures before the leader was presumed cut off, and before the standby answered, are no beginning of
// those that count: what others answered since then is too old.
func TestContract239FailuresThatDoNotCountBeginNothing(t *testing.T) {
	l := running(t, "a b c")
	l.now = l.now.Add(2 * time.Second)
	l.lose("a b c") // cut off, and no replica answers: these do not count
	l.now = l.now.Add(2 * time.Second)
	l.lose("b c")
	l.elsewhere("b c")
	for range 3 {
		l.now = l.now.Add(500 * time.Millisecond)
		l.lose("a")
	}
	streak := l.health.Of(addr("a"))
	l.deliver(inventory.Result{Address: addr("a"), At: streak.Last.At, Outcome: inventory.Elsewhere, Failures: streak.Unconnected.Failures, Message: "replica-b", Missed: true})
	l.want(ready("a b c"))
	l.now = l.now.Add(500 * time.Millisecond)
	l.lose("b c")
	l.elsewhere("b c")
	l.want("a=down b=ready c=ready")
}

// Failures that are refused count as before, whatever other replicas say of the silent ones beside.
func TestContract239RefusalsAreAsFastAsBefore(t *testing.T) {
	for _, fall := range []int{1, 2, 3, 5} {
		l := running(t, "a b c")
		l.policy.Fall, l.policy.AnswerWait = fall, 100*time.Millisecond
		for i := range fall {
			l.want(ready("a b c"))
			if fall > 1 {
				l.lose("a")
				if i == fall-1 {
					break // not answered yet, and the last that is needed
				}
				l.elsewhere("a")
			}
			l.refuse("a")
		}
		l.want("a=down b=ready c=ready")
	}
}

// Ten thousand endpoints that are silent at once cost as much as ten thousand that fail otherwise.
func TestContract242TenThousandSilentAtOnceTakeNoMemoryForEach(t *testing.T) {
	const size = 10_000
	in, _ := fleet(size)
	at := in.Now.Add(2 * time.Second)
	streaks := func(noConnection bool) guard.Input {
		next, results := in, make([]inventory.Result, 0, size)
		for a := range in.Health.All() {
			results = append(results, inventory.Result{Address: a, At: at, Outcome: inventory.Silent, NoConnection: noConnection})
		}
		next.Now, next.Health = at, in.Health.Fold(results, count)
		return next
	}
	policy := defaults()
	usual, asking := streaks(false), streaks(true)
	const most = guard.MaxAsks + size/10 // the race detector makes package fmt allocate at random
	before := testing.AllocsPerRun(3, func() { guard.Decide(usual, policy) })
	if got := testing.AllocsPerRun(3, func() { guard.Decide(asking, policy) }); got > before+most {
		t.Errorf("got %.0f allocations with questions, want at most %d more than the %.0f without", got, most, before)
	}
	if got := len(guard.Decide(asking, policy).Asks); got != guard.MaxAsks {
		t.Errorf("got %d questions, want %d", got, guard.MaxAsks)
	}
}
