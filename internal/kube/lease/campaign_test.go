package lease_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// soon is what a request and its answer may take.
const soon = 100 * time.Millisecond

func TestTheFirstProcessMakesTheLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		p := start(t, a, "one")
		within(t, soon, "lead", p.leading)
		got := a.get()
		if got.Name != "lease" || got.Namespace != "infra" || *got.Spec.HolderIdentity != "one" ||
			*got.Spec.LeaseDurationSeconds != 15 || *got.Spec.LeaseTransitions != 0 {
			t.Errorf("got %+v, want one's lease of 15 s without a transition", got)
		}
		if state := p.elector.State(); !state.Enabled || !state.Leading || state.Holder != "one" || state.LastErr != nil || !state.Since.Equal(time.Now()) {
			t.Errorf("got %+v, want leading since now", state)
		}
	})
}

// Contract 32: the holder's clock decides nothing, even when it is wrong.
func TestContract32ALeaseExpiresByOurOwnClock(t *testing.T) {
	for name, skew := range map[string]time.Duration{"right": 0, "an hour slow": -time.Hour, "an hour fast": time.Hour, "from 1970": -60 * 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				a := newAPI()
				a.holds("dead", time.Now().Add(skew))
				time.Sleep(time.Minute) // how old it is cannot be known
				p := start(t, a, "one")
				time.Sleep(lease.LeaseDuration - soon)
				if p.leading() {
					t.Fatal("it leads before the lease has expired")
				}
				within(t, 2*soon, "lead", p.leading)
				if got := *a.get().Spec.LeaseTransitions; got != 5 {
					t.Errorf("got %d transitions, want 5", got)
				}
			})
		})
	}
}

func TestEachRenewalThatIsSeenStartsTheTimeAnew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		a.holds("other", time.Now())
		p := start(t, a, "one")
		for range 20 {
			time.Sleep(lease.LeaseDuration - time.Second)
			a.holds("other", time.Now())
		}
		if p.leading() {
			t.Fatal("it leads while the lease is renewed")
		}
		began := time.Now()
		within(t, lease.LeaseDuration+soon, "lead", p.leading)
		if took := time.Since(began); took < lease.LeaseDuration {
			t.Errorf("it leads %s after the last renewal, want %s", took, lease.LeaseDuration)
		}
	})
}

func TestAnEditThatIsNoRenewalDoesNotProlongALease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		a.holds("dead", time.Now())
		p := start(t, a, "one")
		for range 15 {
			time.Sleep(time.Second)
			a.change(func(l *coordinationv1.Lease) *coordinationv1.Lease {
				l.Labels = map[string]string{"at": time.Now().String()}
				return l
			})
		}
		within(t, soon, "lead", p.leading)
	})
}

func TestALongerLeaseOfAnotherIsRespected(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		held := held("other", time.Now())
		*held.Spec.LeaseDurationSeconds = 60
		a.change(func(*coordinationv1.Lease) *coordinationv1.Lease { return held })
		p := start(t, a, "one")
		time.Sleep(time.Minute - soon)
		if p.leading() {
			t.Fatal("it leads before the lease has expired")
		}
		within(t, 2*soon, "lead", p.leading)
	})
}

func TestAReleaseIsNoticedAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		first := start(t, a, "one")
		within(t, soon, "lead", first.leading)
		standbys := []*process{start(t, a, "two"), start(t, a, "three"), start(t, a, "four")}
		time.Sleep(time.Minute)
		wantLeading(t, append(standbys, first), first)
		first.stop()
		<-first.done
		within(t, soon, "another leads", func() bool { return slices.Contains([]string{"two", "three", "four"}, a.holder()) })
		time.Sleep(time.Minute)
		leaders := 0
		for _, p := range standbys {
			if p.leading() {
				leaders++
			}
		}
		if leaders != 1 {
			t.Errorf("got %d leaders after the race, want 1", leaders)
		}
	})
}

// The holder of a deleted Lease may write for ten more seconds. So no other process
// may take the Lease in that time.
func TestADeletedLeaseKeepsItsHolder(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		first := start(t, a, "one")
		within(t, soon, "lead", first.leading)
		standby := start(t, a, "two")
		time.Sleep(5 * time.Second)
		a.change(func(*coordinationv1.Lease) *coordinationv1.Lease { return nil })
		within(t, lease.RetryPeriod+soon, "a lease again", func() bool { return a.get() != nil })
		time.Sleep(time.Minute)
		wantLeading(t, []*process{first, standby}, first)
		if got := *a.get().Spec.LeaseTransitions; got != 0 || a.holder() != "one" {
			t.Errorf("got holder %s after %d transitions, want one after none", a.holder(), got)
		}
		// Where the holder is dead, the lease expires as if it were there.
		first.client.set(func(string) outcome { return refused })
		began := time.Now()
		time.Sleep(time.Second)
		a.change(func(*coordinationv1.Lease) *coordinationv1.Lease { return nil })
		within(t, lease.LeaseDuration+soon, "lead", standby.leading)
		if took := time.Since(began); took < lease.RenewDeadline {
			t.Errorf("the standby leads after %s, want that it waits for the holder to give up", took)
		}
	})
}

func TestASilentWatchIsNotBelieved(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		first := start(t, a, "one")
		within(t, soon, "lead", first.leading)
		standby := start(t, a, "two")
		time.Sleep(5 * time.Second)
		a.silence()
		time.Sleep(10 * time.Minute)
		wantLeading(t, []*process{first, standby}, first)
		first.stop()
		within(t, linger+soon, "lead", standby.leading)
	})
}

func TestWatchesThatEndAreBegunAnew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, first, standby := lead(t)
		for range 100 {
			time.Sleep(5 * time.Second)
			a.cut()
		}
		wantLeading(t, []*process{first, standby}, first)
		if states := standby.told(); len(states) != 1 {
			t.Errorf("got %d things told, want that one leads, and nothing of watches: %+v", len(states), states)
		}
		a.cut()
		first.stop()
		within(t, linger+lease.RetryPeriod, "lead", standby.leading)
	})
}

// Without the right to watch, the Lease is asked about instead.
func TestAStandbyThatMayNotWatchAsks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		first := start(t, a, "one")
		within(t, soon, "lead", first.leading)
		standby := prepare(t, a, "two")
		standby.client.set(func(verb string) outcome {
			if verb == "watch" {
				return denied
			}
			return served
		})
		standby.run()
		time.Sleep(10 * time.Minute)
		wantLeading(t, []*process{first, standby}, first)
		if states := standby.told(); len(states) != 2 || !strings.Contains(states[1].LastErr.Error(), "grant list, watch, create and update of leases") {
			t.Errorf("got %+v, want one who leads and once the missing right", states)
		}
		if got := a.count("two", "list", "watch"); got > 1300 {
			t.Errorf("got %d requests in ten minutes, want two each two seconds at most", got)
		}
		first.stop()
		within(t, linger+lease.RetryPeriod+soon, "lead", standby.leading)
	})
}
