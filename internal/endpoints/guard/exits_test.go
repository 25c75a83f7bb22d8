package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// takenOver decides on a scheduled inventory that lists some nodes, and gives
// the addresses of others to nodes that are not eligible: "a@new b" gives a's
// address to node new, and b's to b's own node.
func (l *lab) takenOver(list, ineligible string) {
	l.Helper()
	read := reading(list)
	read.Ineligible = candidates(ineligible)
	read.Nodes += len(read.Ineligible)
	l.decide(&read)
}

func TestContract13AddressOfAnotherNodeIsNotKept(t *testing.T) {
	t.Run("it drains, and goes", func(t *testing.T) {
		l := running(t, "a b c d")
		l.wait(time.Second)
		l.takenOver("d", "a@new b")
		l.want("a=draining b=ready c=ready d=ready")
		l.wantReason("a", inventory.Draining, "belongs to node new", "not eligible")
		l.wantMode("Hold TooManyRemovals")
		l.wait(29 * time.Second)
		l.takenOver("d", "a@new b")
		l.wait(time.Second)
		l.want("b=ready c=ready d=ready")
		if len(l.verdict.Accepted) > 0 {
			t.Errorf("got accepted %v, want none: no threshold removed it", l.verdict.Accepted)
		}
	})
	t.Run("its first failure is enough", func(t *testing.T) {
		l := running(t, "a b c d")
		l.wait(time.Second)
		l.takenOver("d", "a@new")
		l.refuse("a")
		l.want("b=ready c=ready d=ready")
	})
	t.Run("nothing goes while nothing present passes", func(t *testing.T) {
		l := running(t, "a b")
		l.wait(time.Second)
		l.takenOver("", "a@new b@newer")
		l.pass("a b")
		l.wait(time.Hour)
		l.want("a=ready b=ready")
		l.wantReason("a", inventory.ReadyDraining, "belongs to node new")
	})
	t.Run("its own node that is not eligible keeps it", func(t *testing.T) {
		l := running(t, "a b c d")
		l.takenOver("d", "a b c")
		l.want("a=ready b=ready c=ready d=ready")
	})
	t.Run("a node that is not known after a restart may be its own", func(t *testing.T) {
		l := restarted(t, "a=ready b=ready c=ready d=ready")
		l.pass("a b c d")
		l.takenOver("d", "a@new")
		l.want("a=ready b=ready c=ready d=ready")
		l.takenOver("d", "a@newer")
		l.want("a=draining b=ready c=ready d=ready")
	})
	t.Run("back at its own node it has to prove itself", func(t *testing.T) {
		l := running(t, "a b c d")
		l.wait(time.Second)
		l.takenOver("d", "a@new")
		l.wait(time.Second)
		l.read("a b c d")
		l.want("a=draining b=ready c=ready d=ready")
		l.refuse("a")
		l.want("a=down b=ready c=ready d=ready")
	})
}

func TestContract13WithoutHealthChecksEachKeptEndpointSaysWhenItGoes(t *testing.T) {
	l := newLab(t)
	l.policy.HealthOff, l.policy.Threshold, l.policy.PollInterval = true, 3, 30*time.Second
	l.read("a b c d")
	l.read("d")
	removed := l.now.Add(time.Minute)
	for _, backend := range []string{"a", "b", "c"} {
		l.wantReason(backend, inventory.ReadyHeld, "removed at "+removed.Format(time.TimeOnly)+" UTC unless an inventory lists it (EMPTY_RESULT_THRESHOLD=3)")
	}
	if got, want := l.verdict.Removal, (guard.Removal{Endpoints: 3, Inventories: 2, At: removed}); got != want {
		t.Errorf("got removal %+v, want %+v", got, want)
	}
	l.policy.Threshold = 0
	l.read("d")
	for _, d := range l.verdict.Decisions {
		if strings.Contains(d.Message, "removed") {
			t.Errorf("got %+v, want no removal to be told: there is none", d)
		}
	}
}

func TestContract13AcceptedRemovalsAreTold(t *testing.T) {
	l := running(t, "a b c d A B C")
	l.policy.Threshold, l.policy.PollInterval = 3, 30*time.Second
	l.read("d C")
	l.refuse("a a a b b b A A A")
	if got, want := l.verdict.Removal, (guard.Removal{Endpoints: 3, Inventories: 3}); got != want {
		t.Errorf("got removal %+v, want %+v", got, want)
	}
	l.read("d C")
	removed := l.now.Add(time.Minute)
	at := removed.Format(time.TimeOnly)
	for range 2 {
		if got, want := l.verdict.Message, "2 of the 3 endpoints that they leave out will be removed at "+at+" UTC unless the source recovers"; !strings.Contains(got, want) {
			t.Errorf("got message %q, want it to contain %q", got, want)
		}
		l.wantReason("a", inventory.ProbeRefused, "removed at "+at+" UTC")
		l.wait(10 * time.Second) // what is said does not change with the time
	}
	l.wait(10 * time.Second)
	l.read("d C")
	if got, want := l.verdict.Removal, (guard.Removal{Endpoints: 3, Inventories: 1, At: removed}); got != want {
		t.Errorf("got removal %+v, want %+v", got, want)
	}
	l.read("d C")
	if got := namesOf(l.verdict.Accepted); got != "a b A" {
		t.Errorf("got accepted %q, want a, b and A", got)
	}
	for _, part := range []string{"3 rejected inventories in a row", "2 endpoints", "10.0.0.1, 10.0.0.2", "1 endpoint", "fd00::1"} {
		if !strings.Contains(l.verdict.AcceptedMessage, part) {
			t.Errorf("got message %q, want it to contain %q", l.verdict.AcceptedMessage, part)
		}
	}
	l.wait(time.Second)
	if len(l.verdict.Accepted) > 0 || l.verdict.AcceptedMessage != "" || l.verdict.Removal != (guard.Removal{}) {
		t.Errorf("got accepted %v, %q and removal %+v again, want each told once", l.verdict.Accepted, l.verdict.AcceptedMessage, l.verdict.Removal)
	}
}

func TestContract13NewEndpointsMustOutnumberTheKeptOnes(t *testing.T) {
	const old = "a=ready b=ready c=ready d=ready "
	l := running(t, "a b c d")
	l.policy.Threshold = 2
	l.reads(4, "w x y")
	l.pass("w x y")
	l.reads(4, "w x y")
	l.want(old + "w=ready x=ready y=ready")
	l.wantMode("Hold TooManyRemovals")
	t.Run("one more may", func(t *testing.T) {
		l := *l
		l.TB = t
		l.read("w x y z")
		l.pass("z")
		l.read("w x y z")
		l.want("a=draining b=draining c=draining d=draining w=ready x=ready y=ready z=ready")
	})
	t.Run("one kept less may", func(t *testing.T) {
		l := *l
		l.TB = t
		l.refuse("d d d")
		l.reads(2, "w x y")
		l.want("a=ready b=ready c=ready w=ready x=ready y=ready")
		l.read("w x y")
		l.want("a=draining b=draining c=draining w=ready x=ready y=ready")
	})
}

func TestContract09EndpointsThatAreNotCheckedAreSaidToBeUnchecked(t *testing.T) {
	l := running(t, "a b c d")
	l.refuse("b b b")
	l.wait(time.Minute)
	since := l.now
	l.trouble("a b")
	l.wantReason("a", inventory.Ready, "Pass")
	if got, want := l.verdict.Next, since.Add(6*time.Second+1); !got.Equal(want) {
		t.Errorf("got next %s, want %s", got, want)
	}
	l.wait(6 * time.Second)
	l.trouble("a b")
	if l.verdict.Unchecked != 0 {
		t.Errorf("got %d unchecked after FALL intervals, want none yet", l.verdict.Unchecked)
	}
	l.wait(1)
	if l.verdict.Unchecked != 2 {
		t.Errorf("got %d unchecked, want a and b", l.verdict.Unchecked)
	}
	l.want("a=ready b=down c=ready d=ready")
	l.wantReason("a", inventory.ProbePending, "not checked since "+since.Format(time.DateTime)+" UTC", "HEALTH_CHECK_FALL=3", "LocalError")
	l.wantReason("b", inventory.ProbeRefused, "not checked since", "LocalError")
	told := l.decision("a").Message
	l.wait(time.Hour)
	if got := l.decision("a").Message; got != told {
		t.Errorf("got message %q an hour later, want the same as before: %q", got, told)
	}
	l.pass("a b")
	l.wantReason("a", inventory.Ready, "Pass")
	if l.verdict.Unchecked != 0 {
		t.Errorf("got %d unchecked after a pass, want none", l.verdict.Unchecked)
	}
}

func TestContract10FailureAfterAPassCountsEvenWhereBothComeTogether(t *testing.T) {
	l := running(t, "a b c d")
	l.silence("a b c")
	l.pass("b c") // what was silent while cut off does not count
	l.together(inventory.Pass, inventory.Refused)
	l.wantReason("a", inventory.ReadyFailing, "failure 1 of HEALTH_CHECK_FALL=3")
	l.refuse("a a")
	l.want("a=down b=ready c=ready d=ready")
}
