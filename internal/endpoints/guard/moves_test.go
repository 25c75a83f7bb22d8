package guard_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// old delivers a result of a that was sent a second ago.
func (l *lab) old(outcome inventory.Outcome) {
	l.Helper()
	l.deliver(inventory.Result{Address: addr("a"), At: l.now.Add(-time.Second), Outcome: outcome})
}

// moved returns a lab where a's address has just moved to another node.
func moved(t testing.TB) *lab {
	t.Helper()
	l := running(t, "a b c d")
	l.wait(time.Minute)
	l.read("a@new b c d")
	return l
}

func TestContract07MovedAddressKeepsItsPlaceUntilItIsProbed(t *testing.T) {
	l := moved(t)
	l.want("a=ready b=ready c=ready d=ready")
	l.wantReason("a", inventory.ProbePending, "moved to node new")
	if got := l.verdict.Watch[0]; got != (inventory.Watch{Address: addr("a"), Urgent: true}) {
		t.Errorf("got watch %v, want the moved address to be urgent", got)
	}
	l.old(inventory.Refused)
	l.old(inventory.Refused)
	l.old(inventory.Refused)
	l.trouble("a")
	l.wait(time.Hour)
	l.want("a=ready b=ready c=ready d=ready")
}

func TestContract07FirstResultDecidesOnAMovedAddress(t *testing.T) {
	t.Run("a pass keeps it, and failures count as ever", func(t *testing.T) {
		l := moved(t)
		l.pass("a")
		l.wantReason("a", inventory.Ready)
		l.refuse("a a")
		l.want("a=ready b=ready c=ready d=ready")
		l.refuse("a")
		l.want("a=down b=ready c=ready d=ready")
	})
	t.Run("a failure takes it down at once, RISE passes bring it back", func(t *testing.T) {
		l := moved(t)
		l.refuse("a")
		l.want("a=down b=ready c=ready d=ready")
		l.pass("a")
		l.want("a=down b=ready c=ready d=ready")
		l.pass("a")
		l.want("a=ready b=ready c=ready d=ready")
	})
	t.Run("down before, it enters on its first pass like any new candidate", func(t *testing.T) {
		l := running(t, "a b c")
		l.refuse("a a a")
		l.wait(time.Minute)
		l.read("a@new b c")
		l.wantReason("a", inventory.ProbePending, "moved to node new")
		l.pass("a")
		l.want("a=ready b=ready c=ready")
	})
	t.Run("passes of the node before it bring no endpoint back", func(t *testing.T) {
		l := running(t, "a b c")
		l.refuse("a a a")
		l.wait(time.Minute)
		l.read("a@new b c")
		l.old(inventory.Pass)
		l.old(inventory.Pass)
		l.want("a=down b=ready c=ready")
	})
	t.Run("silence while the prober is cut off decides nothing", func(t *testing.T) {
		l := moved(t)
		l.silence("b c d a")
		l.want("a=ready b=ready c=ready d=ready")
		l.pass("b c d")
		l.want("a=ready b=ready c=ready d=ready")
		l.refuse("a")
		l.want("a=down b=ready c=ready d=ready")
	})
}

func TestContract07MovedAndLeavingDrains(t *testing.T) {
	l := moved(t)
	l.read("a@newer! b c d")
	l.want("a=draining b=ready c=ready d=ready")
	l.wait(30 * time.Second)
	l.want("b=ready c=ready d=ready")
}

func TestContract07CandidateOfAnotherNodeIsProbedAnew(t *testing.T) {
	l := running(t, "b c")
	l.read("a! b c")
	l.pass("a a a")
	l.wait(time.Minute)
	l.read("a@new b c")
	l.want("b=ready c=ready")
	l.wantReason("a", inventory.ProbePending, "moved to node new")
	l.old(inventory.Pass)
	l.want("b=ready c=ready")
	l.read("a@new b c")
	l.want("b=ready c=ready")
	l.pass("a")
	l.want("a=ready b=ready c=ready")
}

func TestContract07IdentityIsTheIDThenTheName(t *testing.T) {
	tests := []struct {
		name          string
		before, after inventory.Identity
		moved         bool
	}{
		{"same id, renamed", inventory.Identity{ID: "1", Name: "x"}, inventory.Identity{ID: "1", Name: "y"}, false},
		{"another id, same name", inventory.Identity{ID: "1", Name: "x"}, inventory.Identity{ID: "2", Name: "x"}, true},
		{"an id appears, same name", inventory.Identity{Name: "x"}, inventory.Identity{ID: "2", Name: "x"}, false},
		{"another name, no id", inventory.Identity{Name: "x"}, inventory.Identity{Name: "y"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := running(t, "b c")
			read := func(node inventory.Identity) {
				r := reading("a b c")
				r.Candidates[0].Node = node
				l.decide(&r)
			}
			read(test.before)
			l.pass("a")
			l.wait(time.Second)
			read(test.after)
			l.refuse("a")
			want := map[bool]string{true: "a=down b=ready c=ready", false: "a=ready b=ready c=ready"}
			l.want(want[test.moved])
		})
	}
}

func TestContract07AddressGoneForAReadIsStillKnown(t *testing.T) {
	l := running(t, "a b c d")
	l.read("d")
	l.wait(time.Second)
	l.read("a@new b c d")
	l.refuse("a")
	l.want("a=down b=ready c=ready d=ready")
}

func TestContract07FirstFailureTakesAMovedAddressDownWhateverTheInventory(t *testing.T) {
	l := running(t, "a b c")
	l.wait(time.Minute)
	l.read("a@new! b! c!")
	l.refuse("a")
	l.want("a=down b=ready c=ready")
	l.read("a@new! b! c")
	l.pass("c")
	l.want("a=down b=draining c=ready")
}

func TestContract07RecoveredMemberIsNoStrangerToItsFirstRead(t *testing.T) {
	l := restarted(t, "a=ready b=ready c=ready")
	l.pass("a b c")
	l.read("a b c")
	l.refuse("a a")
	l.want("a=ready b=ready c=ready")
}

func TestContract19AnEndpointThatIsListedNoMoreKeepsItsZone(t *testing.T) {
	l := running(t, "a b c")
	read := reading("a b c")
	read.Candidates[0].Zone = "zone-2"
	l.decide(&read)
	l.read("b c")
	if got := l.verdict.Members[0]; got.State != inventory.StateDraining || got.Zone != "zone-2" {
		t.Errorf("got %v in zone %q, want it to drain in zone-2", got.State, got.Zone)
	}
}

func TestContract19TakesTheZoneOfTheNewestRead(t *testing.T) {
	l := running(t, "a")
	read := reading("a")
	read.Candidates[0].Zone = "zone-2"
	l.decide(&read)
	if got := l.verdict.Members[0].Zone; got != "zone-2" {
		t.Errorf("got zone %q, want zone-2", got)
	}
}
