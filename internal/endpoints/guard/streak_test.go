package guard_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

func TestContract10FallFailuresDownRisePassesUp(t *testing.T) {
	for _, n := range []struct{ fall, rise int }{{1, 1}, {2, 3}, {3, 2}, {5, 4}} {
		l := running(t, "a b c d")
		l.policy.Fall, l.policy.Rise = n.fall, n.rise
		for range n.fall - 1 {
			l.refuse("a")
			l.want("a=ready b=ready c=ready d=ready")
		}
		l.refuse("a")
		l.want("a=down b=ready c=ready d=ready")
		for range n.rise - 1 {
			l.pass("a")
			l.want("a=down b=ready c=ready d=ready")
		}
		l.pass("a")
		l.want("a=ready b=ready c=ready d=ready")
	}
}

func TestContract10OneOppositeResultRestartsTheCount(t *testing.T) {
	l := running(t, "a b c d")
	l.refuse("a a")
	l.pass("a")
	l.refuse("a a")
	l.want("a=ready b=ready c=ready d=ready")
	l.refuse("a")
	l.want("a=down b=ready c=ready d=ready")
	l.pass("a")
	l.refuse("a")
	l.pass("a")
	l.want("a=down b=ready c=ready d=ready")
	l.pass("a")
	l.want("a=ready b=ready c=ready d=ready")
}

func TestContract10RefusedAndSilentCountTogether(t *testing.T) {
	l := running(t, "a b c d")
	l.refuse("a")
	l.silence("a")
	l.want("a=ready b=ready c=ready d=ready")
	l.refuse("a")
	l.want("a=down b=ready c=ready d=ready")
}

func TestContract10NewCandidateEntersOnItsFirstPass(t *testing.T) {
	l := running(t, "b c")
	l.read("a b c")
	l.refuse("a a a a")
	l.want("b=ready c=ready")
	l.wantReason("a", inventory.ProbeRefused, "Refused, 4 times in a row", "first pass")
	l.pass("a")
	l.want("a=ready b=ready c=ready")
}

func TestContract10RemovedMemberComesBackOnItsFirstPass(t *testing.T) {
	l := running(t, "a b c")
	l.read("b c")
	l.refuse("a a a")
	l.want("b=ready c=ready")
	l.read("a b c")
	l.want("b=ready c=ready")
	l.pass("a")
	l.want("a=ready b=ready c=ready")
}

func TestContract09LocalErrorCountsForNothing(t *testing.T) {
	l := running(t, "a b c d")
	l.trouble("a a a a a b c d")
	l.want("a=ready b=ready c=ready d=ready")
	l.wantMode("Publish")
	l.refuse("a")
	l.trouble("a a a")
	l.refuse("a")
	l.want("a=ready b=ready c=ready d=ready")
	l.refuse("a")
	l.want("a=down b=ready c=ready d=ready")
	l.pass("a")
	l.trouble("a")
	l.want("a=down b=ready c=ready d=ready")
	l.pass("a")
	l.want("a=ready b=ready c=ready d=ready")
	l.read("a b c d x")
	l.trouble("x")
	l.wantReason("x", inventory.ProbePending, "LocalError")
}

func TestContract32TimeAloneTakesNoEndpointDown(t *testing.T) {
	jumps := []time.Duration{time.Nanosecond, time.Hour, 1000 * time.Hour, -time.Hour, -1000 * time.Hour}
	for _, jump := range jumps {
		l := running(t, "a b c d e f g")
		l.refuse("a a")
		l.refuse("b b b")
		l.read("a b c d e g")
		l.read("b g")
		const states = "a=ready b=down c=ready d=ready e=ready f=ready g=ready"
		l.want(states)
		l.wait(jump)
		l.want(states)
		l.read("a b c d e@new f g")
		l.wait(jump)
		l.want(states)
	}
}

func TestContract32ClockThatIsSetBackKeepsADrainingMember(t *testing.T) {
	l := running(t, "a b c")
	l.read("b c")
	l.wait(-time.Hour)
	l.want("a=draining b=ready c=ready")
	l.wait(time.Hour + 30*time.Second)
	l.want("b=ready c=ready")
}

func TestWatchIsUrgentWhereTheLastResultContradictsTheState(t *testing.T) {
	urgent := func(l *lab) string {
		var names string
		for _, w := range l.verdict.Watch {
			if w.Urgent {
				names += nameOf(w.Address)
			}
		}
		return names
	}
	tests := []struct {
		name string
		do   func(l *lab)
		want string
	}{
		{"nothing", func(*lab) {}, ""},
		{"ready and failing once", func(l *lab) { l.refuse("a") }, "a"},
		{"down and failing", func(l *lab) { l.refuse("a a a") }, ""},
		{"down and passing once", func(l *lab) { l.refuse("a a a"); l.pass("a") }, "a"},
		{"draining and failing once", func(l *lab) { l.read("b c d"); l.refuse("a") }, "a"},
		{"a candidate that fails", func(l *lab) { l.read("a b c d x"); l.refuse("x") }, ""},
		{"the prober is cut off", func(l *lab) { l.silence("a b c d a b c d a b c d") }, ""},
		{"failing open", func(l *lab) { l.refuse("a b c d a b c d a b c d a b c d") }, ""},
		{"failing open, one passes", func(l *lab) { l.refuse("a b c d a b c d a b c d"); l.pass("b") }, "b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := running(t, "a b c d")
			test.do(l)
			if got := urgent(l); got != test.want {
				t.Errorf("got urgent %q, want %q", got, test.want)
			}
		})
	}
}

func TestNextIsWhenTheFirstMemberHasDrained(t *testing.T) {
	l := running(t, "a b c d")
	if !l.verdict.Next.IsZero() {
		t.Errorf("got next %s, want none", l.verdict.Next)
	}
	l.read("b c d")
	want := l.now.Add(30 * time.Second)
	l.wait(time.Second)
	l.read("c d")
	l.want("a=draining b=draining c=ready d=ready")
	if got := l.verdict.Next; !got.Equal(want) {
		t.Errorf("got next %s, want %s", got, want)
	}
}
