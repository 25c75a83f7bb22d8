package guard_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// beside compares what a target with other pools publishes with what it should be.
func (l *lab) beside(works guard.Work, own []inventory.Member, want string) {
	l.Helper()
	if got := statesOf(l.verdict.Published(guard.WorkByFamily{IPv4: works}, own)); got != want {
		l.Fatalf("got %q beside %d, want %q; alone it is %q", got, works, want, l.states())
	}
}

// membersOf reads "a=ready b=down".
func membersOf(t testing.TB, published string) []inventory.Member {
	t.Helper()
	return restarted(t, published).verdict.Members
}

func TestFailingEndpointsAreDownWhileAnotherPoolWorks(t *testing.T) {
	l := running(t, "a b")
	for range 3 {
		l.refuse("a b")
	}
	l.wantMode("FailOpen NothingPasses")
	l.want("a=ready b=ready")
	l.beside(guard.NothingWorks, nil, "a=ready b=ready")
	l.beside(guard.LeavingWorks, nil, "a=down b=down")
	l.beside(guard.ReadyWorks, nil, "a=down b=down")

	// The IPv4 endpoints of the other pool are of no use to IPv6 clients.
	if got := statesOf(l.verdict.Published(guard.WorkByFamily{IPv6: guard.ReadyWorks}, nil)); got != "a=ready b=ready" {
		t.Errorf("got %q beside working IPv6 endpoints", got)
	}

	l.pass("a")
	l.beside(guard.ReadyWorks, nil, "a=down b=down")
	l.pass("a")
	l.wantMode("Publish")
	l.want("a=ready b=ready") // alone, b has to fail anew
	l.beside(guard.ReadyWorks, nil, "a=ready b=down")
	l.pass("b")
	if got := l.verdict.Watch[1]; !got.Urgent {
		t.Errorf("%s is down beside another pool, but the second pass is not waited for", got.Address)
	}
	l.beside(guard.ReadyWorks, nil, "a=ready b=down")
	for range 3 {
		l.refuse("b")
	}
	l.want("a=ready b=down")
	l.beside(guard.ReadyWorks, nil, "a=ready b=down")
}

func TestAnEndpointThatNeverPassedIsNotPublishedWhileAnotherPoolWorks(t *testing.T) {
	l := newLab(t)
	l.read("a b")
	for range 3 {
		l.refuse("a b")
	}
	l.want("a=ready b=ready")
	l.beside(guard.ReadyWorks, nil, "")
	l.pass("a")
	l.beside(guard.ReadyWorks, nil, "a=ready") // it joins on its first pass
}

func TestLeavingEndpointsDrainWhileAnotherPoolWorks(t *testing.T) {
	l := running(t, "a b")
	l.read("a b!")
	for range 3 {
		l.refuse("a")
	}
	l.want("a=down b=ready")
	l.beside(guard.LeavingWorks, nil, "a=down b=ready")
	l.beside(guard.ReadyWorks, nil, "a=down b=draining")
}

func TestWorkingSaysWhatWorks(t *testing.T) {
	l := restarted(t, "a=ready b=ready")
	works := func(want guard.Work) {
		t.Helper()
		if got := l.verdict.Working(); got != (guard.WorkByFamily{IPv4: want}) {
			t.Errorf("got %+v in %s, want %d", got, l.states(), want)
		}
	}
	works(guard.NothingWorks) // no check of this process has passed
	l.read("a b")
	l.pass("a b")
	works(guard.ReadyWorks)
	l.refuse("a b")
	works(guard.ReadyWorks) // one failure takes nothing down
	l.read("a b!")
	l.pass("b")
	for range 2 {
		l.refuse("a")
	}
	works(guard.LeavingWorks)
	for range 3 {
		l.refuse("b")
	}
	l.wantMode("FailOpen NothingPasses")
	works(guard.NothingWorks)
	l.pass("a")
	works(guard.NothingWorks) // it still fails open
	l.pass("a")
	works(guard.ReadyWorks)
}

func TestAfterARestartEachTargetKeepsWhatItsSlicesSay(t *testing.T) {
	l := restarted(t, "a=ready b=ready c=down") // the best of all targets
	one, two := membersOf(t, "a=ready b=down"), membersOf(t, "b=ready c=down")
	targets := func(works guard.Work, first, second string) {
		t.Helper()
		l.beside(works, one, first)
		l.beside(works, two, second)
	}
	for _, works := range []guard.Work{guard.NothingWorks, guard.ReadyWorks} {
		targets(works, "a=ready b=down", "b=ready c=down")
	}
	l.read("a b c")
	targets(guard.NothingWorks, "a=ready b=down", "b=ready c=down")
	l.refuse("b") // judges nothing
	targets(guard.ReadyWorks, "a=ready b=down", "b=ready c=down")
	l.pass("a")
	targets(guard.NothingWorks, "a=ready b=down", "a=ready b=ready c=down")
	l.pass("b")
	targets(guard.NothingWorks, "a=ready b=ready", "a=ready b=ready c=down")
}

func TestContract75WhatOnlySlicesOfOneTargetSayIsNoEndpointOfAnother(t *testing.T) {
	l := restarted(t, "a=ready b=ready x=ready y=ready z=ready")
	one, two := membersOf(t, "a=ready b=ready"), membersOf(t, "x=ready y=ready z=ready")
	l.read("a b") // rejected: it would take away more than half
	l.pass("a b x y z")
	l.wantMode("Hold TooManyRemovals")
	l.want("a=ready b=ready x=ready y=ready z=ready")
	l.beside(guard.NothingWorks, one, "a=ready b=ready")
	l.beside(guard.NothingWorks, two, "a=ready b=ready x=ready y=ready z=ready")
	l.beside(guard.NothingWorks, nil, "a=ready b=ready")
	for range 3 {
		l.refuse("a b x")
	}
	// Where nothing else is ready, every endpoint that passes counts.
	l.beside(guard.NothingWorks, one, "a=down b=down x=down y=ready z=ready")
}

func TestATargetsOwnSlicesMatterUntilEveryEndpointIsJudged(t *testing.T) {
	l := restarted(t, "a=ready b=ready")
	for _, step := range []struct {
		act  func()
		want bool
	}{
		{func() {}, false},
		{func() { l.read("a b") }, false},
		{func() { l.pass("a") }, false},
		{func() { l.pass("b") }, true},
		{func() {
			for range 3 {
				l.refuse("a b")
			}
			l.wantMode("FailOpen NothingPasses")
		}, true},
	} {
		if step.act(); l.verdict.Settled() != step.want {
			t.Errorf("%s: got settled %v, want %v", l.states(), !step.want, step.want)
		}
	}
}

func TestAfterARestartFailuresCountWhereAnotherPoolWorks(t *testing.T) {
	l := restarted(t, "a=ready b=ready")
	own := membersOf(t, "a=ready b=ready")
	for range 3 {
		l.refuse("a b")
	}
	l.want("a=ready b=ready") // alone, the prober may be at fault
	l.beside(guard.NothingWorks, own, "a=ready b=ready")
	l.beside(guard.ReadyWorks, own, "a=down b=down")
	// A target of which nothing is published yet is not left empty.
	l.beside(guard.NothingWorks, nil, "a=ready b=ready")
	l.beside(guard.ReadyWorks, nil, "a=down b=down")
}

func TestAnEndpointThatMovesWhileItIsJudgedStaysWhatItBecame(t *testing.T) {
	own := "c=draining d=draining e=ready"
	l := restarted(t, own)
	l.read("c! d! e")
	l.refuse("c d e") // judges nothing: the prober may be at fault
	l.want(own)
	l.wait(time.Second)
	l.read("c@new! d! e") // nothing is known of the other node
	l.want("c=ready d=draining e=ready")
	l.beside(guard.NothingWorks, membersOf(t, own), "c=ready d=draining e=ready")
	l.refuse("c d e")
	l.want("c=ready d=draining e=ready")
	l.beside(guard.NothingWorks, membersOf(t, own), "c=ready d=draining e=ready")
}

func TestSilenceThatIsTheProbersTakesNothingDownBesideAnotherPool(t *testing.T) {
	l := running(t, "a b c")
	for range 5 {
		l.silence("a b c")
	}
	l.wantMode("Hold ProbesSilent")
	l.beside(guard.ReadyWorks, nil, "a=ready b=ready c=ready")
}

// After a restart, an endpoint that is still published ready and fails is not known to
// work, although another one of its pool has passed.
func TestAnEndpointThatFailsAndNeverPassedDoesNotWork(t *testing.T) {
	l := restarted(t, "a=ready b=ready")
	l.read("a b")
	l.pass("a")
	for range 3 {
		l.refuse("a")
	}
	l.refuse("b")
	l.want("a=down b=ready")
	if got := l.verdict.Working().IPv4; got != guard.NothingWorks {
		t.Errorf("got %d, want that nothing is known to work", got)
	}
}
