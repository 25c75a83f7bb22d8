package guard_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// step is one thing that happens in a lab, and what is published afterwards.
type step struct {
	what string
	do   func(l *lab)
	want string
}

// play runs the steps one after the other.
func (l *lab) play(steps []step) {
	l.Helper()
	for _, s := range steps {
		s.do(l)
		if got := l.states(); got != s.want {
			l.Fatalf("%s: got members %q in mode %s, want %q\n%s", s.what, got, l.mode(), s.want, l.explain())
		}
	}
}

func TestContract13TableForPresentMembers(t *testing.T) {
	t.Run("passing is ready", func(t *testing.T) {
		l := newLab(t)
		l.play([]step{
			{"a candidate that was never probed is pending", func(l *lab) { l.read("a b") }, ""},
			{"one that passes is ready", func(l *lab) { l.pass("a") }, "a=ready"},
		})
		l.wantReason("a", inventory.Ready)
		l.wantReason("b", inventory.ProbePending, "no health check has counted")
	})
	t.Run("failing is down after FALL", func(t *testing.T) {
		l := running(t, "a b c")
		l.play([]step{
			{"one failure", func(l *lab) { l.refuse("a") }, "a=ready b=ready c=ready"},
			{"two failures", func(l *lab) { l.refuse("a") }, "a=ready b=ready c=ready"},
			{"three failures", func(l *lab) { l.refuse("a") }, "a=down b=ready c=ready"},
		})
		l.wantReason("a", inventory.ProbeRefused, "HEALTH_CHECK_FALL=3", "HEALTH_CHECK_RISE=2")
	})
	t.Run("never probed is as before after a restart", func(t *testing.T) {
		l := restarted(t, "a=ready b=draining c=down d=ready")
		l.play([]step{
			{"before a read", func(l *lab) { l.wait(time.Hour) }, "a=ready b=draining c=down d=ready"},
			{"listed by a read", func(l *lab) { l.read("a b c d e") }, "a=ready b=draining c=down d=ready"},
			{"and later", func(l *lab) { l.wait(time.Hour) }, "a=ready b=draining c=down d=ready"},
		})
		for _, name := range []string{"a", "c", "d", "e"} {
			l.wantReason(name, inventory.ProbePending)
		}
	})
}

func TestContract13TableForLeavingMembers(t *testing.T) {
	for _, leaves := range []struct{ how, read string }{
		{"reported so", "a! b c"}, {"gone in an accepted inventory", "b c"},
	} {
		t.Run(leaves.how+" and passing drains, then goes", func(t *testing.T) {
			l := running(t, "a b c")
			l.play([]step{
				{"read", func(l *lab) { l.read(leaves.read) }, "a=draining b=ready c=ready"},
				{"almost DRAIN_PERIOD later", func(l *lab) { l.wait(30*time.Second - 1) }, "a=draining b=ready c=ready"},
				{"another read starts no second period", func(l *lab) { l.read(leaves.read) }, "a=draining b=ready c=ready"},
				{"DRAIN_PERIOD later", func(l *lab) { l.wait(1) }, "b=ready c=ready"},
				{"it does not come back", func(l *lab) { l.pass("a"); l.read(leaves.read) }, "b=ready c=ready"},
			})
		})
		t.Run(leaves.how+" and failing goes at once", func(t *testing.T) {
			l := running(t, "a b c")
			l.play([]step{
				{"read", func(l *lab) { l.read(leaves.read) }, "a=draining b=ready c=ready"},
				{"below FALL", func(l *lab) { l.refuse("a a") }, "a=draining b=ready c=ready"},
				{"FALL", func(l *lab) { l.refuse("a") }, "b=ready c=ready"},
			})
			l.wantReason("a", inventory.Gone, "HEALTH_CHECK_FALL=3")
		})
		t.Run(leaves.how+" while down goes at once", func(t *testing.T) {
			l := running(t, "a b c")
			l.play([]step{
				{"down, and one pass of RISE", func(l *lab) { l.refuse("a a a"); l.pass("a") }, "a=down b=ready c=ready"},
				{"read", func(l *lab) { l.read(leaves.read) }, "b=ready c=ready"},
			})
		})
		t.Run(leaves.how+" and never probed goes at once", func(t *testing.T) {
			l := restarted(t, "a=ready b=ready c=ready")
			l.play([]step{{"read", func(l *lab) { l.pass("b c b c"); l.read(leaves.read) }, "b=ready c=ready"}})
			l.wantReason("a", inventory.Gone, "no health check has counted")
		})
		t.Run(leaves.how+" and then listed again is ready", func(t *testing.T) {
			l := running(t, "a b c")
			l.play([]step{
				{"read", func(l *lab) { l.read(leaves.read) }, "a=draining b=ready c=ready"},
				{"listed", func(l *lab) { l.read("a b c") }, "a=ready b=ready c=ready"},
				{"a second leaving has a period of its own", func(l *lab) { l.wait(20 * time.Second); l.read(leaves.read) }, "a=draining b=ready c=ready"},
				{"not the first one's", func(l *lab) { l.wait(29 * time.Second) }, "a=draining b=ready c=ready"},
			})
		})
	}
}

func TestContract13TableForKeptEndpoints(t *testing.T) {
	t.Run("passing is kept ready", func(t *testing.T) {
		l := running(t, "a b c d")
		l.play([]step{{"read", func(l *lab) { l.read("d") }, "a=ready b=ready c=ready d=ready"}})
		l.wantMode("Hold TooManyRemovals")
		l.wantReason("a", inventory.ReadyHeld, "rejected", "3 of 4", "MAX_REMOVAL_PERCENT=50")
	})
	t.Run("failing is down after FALL, once a listed one passes", func(t *testing.T) {
		l := running(t, "a b c d")
		l.play([]step{
			{"read", func(l *lab) { l.read("d") }, "a=ready b=ready c=ready d=ready"},
			{"below FALL", func(l *lab) { l.silence("a a b b c c") }, "a=ready b=ready c=ready d=ready"},
			{"FALL", func(l *lab) { l.silence("a b c") }, "a=down b=down c=down d=ready"},
			{"and nothing is removed", func(l *lab) { l.wait(time.Hour); l.reads(8, "d") }, "a=down b=down c=down d=ready"},
		})
	})
	t.Run("failing is excused while the listed ones are cut off", func(t *testing.T) {
		l := running(t, "a b c d e f")
		l.play([]step{
			{"read, and most of the listed fall silent", func(l *lab) { l.read("e f"); l.policy.MaxSilentPercent = 49; l.silence("e") }, "a=ready b=ready c=ready d=ready e=ready f=ready"},
			{"so do those left out", func(l *lab) { l.silence("a a a a b b b b") }, "a=ready b=ready c=ready d=ready e=ready f=ready"},
			{"the listed are back", func(l *lab) { l.pass("e"); l.wait(6 * time.Second); l.silence("a a") }, "a=ready b=ready c=ready d=ready e=ready f=ready"},
			{"FALL fresh failures count", func(l *lab) { l.silence("a") }, "a=down b=ready c=ready d=ready e=ready f=ready"},
		})
	})
	t.Run("counts among the N where no listed one passes", func(t *testing.T) {
		l := running(t, "a b c d")
		l.play([]step{
			{"read", func(l *lab) { l.read("d"); l.refuse("d d d") }, "a=ready b=ready c=ready d=down"},
			{"one of four is silent", func(l *lab) { l.silence("a a a") }, "a=down b=ready c=ready d=down"},
			{"two are", func(l *lab) { l.silence("b b b") }, "a=down b=down c=ready d=down"},
			{"three are: the prober is cut off", func(l *lab) { l.silence("c c c c") }, "a=ready b=ready c=ready d=down"},
		})
	})
	t.Run("all of them failing fail open", func(t *testing.T) {
		l := running(t, "a b c d")
		l.play([]step{
			{"read", func(l *lab) { l.read("") }, "a=ready b=ready c=ready d=ready"},
			{"all fail", func(l *lab) { l.refuse("a b c d a b c d a b c d") }, "a=ready b=ready c=ready d=ready"},
			{"nothing counts meanwhile", func(l *lab) { l.reads(30, "") }, "a=ready b=ready c=ready d=ready"},
		})
		l.wantMode("FailOpen NothingPasses")
	})
	t.Run("the last endpoints are not removed without failing open either", func(t *testing.T) {
		l := running(t, "a b c d")
		l.policy.FailOpen = false
		l.play([]step{
			{"all fail", func(l *lab) { l.read(""); l.refuse("a b c d a b c d a b c d") }, "a=down b=down c=down d=down"},
			{"no number of inventories is enough", func(l *lab) { l.reads(30, "") }, "a=down b=down c=down d=down"},
			{"one is back: the others go", func(l *lab) { l.pass("a a"); l.read("") }, "a=ready"},
		})
	})
	t.Run("never probed is as before", func(t *testing.T) {
		l := restarted(t, "a=ready b=draining c=down d=ready")
		l.play([]step{{"read", func(l *lab) { l.pass("d"); l.read("d") }, "a=ready b=draining c=down d=ready"}})
	})
	t.Run("down stays down until it has passed RISE times", func(t *testing.T) {
		l := running(t, "a b c d e")
		l.play([]step{
			{"down", func(l *lab) { l.refuse("a a a") }, "a=down b=ready c=ready d=ready e=ready"},
			{"read, and one pass", func(l *lab) { l.pass("a"); l.read("e") }, "a=down b=ready c=ready d=ready e=ready"},
			{"RISE passes", func(l *lab) { l.pass("a") }, "a=ready b=ready c=ready d=ready e=ready"},
		})
	})
}

func TestContract13ThresholdAppliesToAllWithHealthChecksOff(t *testing.T) {
	l := newLab(t)
	l.policy.HealthOff, l.policy.Threshold = true, 3
	l.play([]step{
		{"present ones are ready", func(l *lab) { l.read("a b c") }, "a=ready b=ready c=ready"},
		{"left out", func(l *lab) { l.reads(2, "") }, "a=ready b=ready c=ready"},
	})
	if got, want := l.verdict.Removal, (guard.Removal{Endpoints: 3, Inventories: 1}); got != want {
		t.Errorf("got removal %+v, want %+v", got, want)
	}
	l.play([]step{{"the threshold", func(l *lab) { l.read("") }, "a=draining b=draining c=draining"}})
	if got := namesOf(l.verdict.Accepted); got != "a b c" {
		t.Errorf("got accepted %q, want all", got)
	}
	for range 4 {
		l.play([]step{{"the same again", func(l *lab) { l.wait(5 * time.Second); l.read("") }, "a=draining b=draining c=draining"}})
	}
	l.play([]step{{"drained", func(l *lab) { l.wait(10 * time.Second) }, ""}})
}

func TestContract13CountsEveryCandidateAsPassingWithHealthChecksOff(t *testing.T) {
	l := restarted(t, "a=down b=ready c=ready")
	l.policy.HealthOff = true
	l.play([]step{
		{"present ones are ready", func(l *lab) { l.read("a b c d") }, "a=ready b=ready c=ready d=ready"},
		{"leaving ones drain", func(l *lab) { l.read("a! b c d") }, "a=draining b=ready c=ready d=ready"},
		{"and go", func(l *lab) { l.wait(30 * time.Second) }, "b=ready c=ready d=ready"},
		{"left out ones are kept", func(l *lab) { l.read("d") }, "b=ready c=ready d=ready"},
		{"results of probes mean nothing", func(l *lab) { l.refuse("b c d b c d b c d") }, "b=ready c=ready d=ready"},
		{"no silence either", func(l *lab) { l.read("b c d"); l.silence("b c d b c d b c d") }, "b=ready c=ready d=ready"},
	})
	l.wantMode("Publish")
	l.wantReason("b", inventory.Ready, "HEALTH_CHECK_MODE=off")
}
