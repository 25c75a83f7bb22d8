package lease_test

import (
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// lead makes an API server with one leader and one standby.
func lead(t *testing.T) (*api, *process, *process) {
	t.Helper()
	a := newAPI()
	leader := start(t, a, "one")
	within(t, soon, "lead", leader.leading)
	standby := start(t, a, "two")
	time.Sleep(lease.RetryPeriod + soon)
	return a, leader, standby
}

func TestContract30TheLeaseIsReleasedAfterTheWorkHasEnded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		leader.stop()
		time.Sleep(linger - soon)
		if a.holder() != "one" || standby.leading() || leader.elector.Remaining() == 0 {
			t.Fatal("the lease is free although the work has not ended")
		}
		within(t, 2*soon, "end", leader.ended)
		within(t, soon, "lead", standby.leading)
		if leader.err != nil {
			t.Errorf("got %v, want no error", leader.err)
		}
		if state := leader.elector.State(); state.Leading || state.Holder != "" || state.LastErr != nil || leader.elector.Remaining() != 0 {
			t.Errorf("got %+v, want no leader", state)
		}
	})
}

func TestTheLeaseIsRenewedUntilTheWorkHasEnded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		leader := prepare(t, a, "one")
		leader.linger = 2 * lease.LeaseDuration
		leader.run()
		within(t, soon, "lead", leader.leading)
		standby := start(t, a, "two")
		leader.stop()
		time.Sleep(leader.linger - soon)
		wantLeading(t, []*process{leader, standby}, leader)
		within(t, 2*soon, "lead", standby.leading)
	})
}

func TestALeaseThatAnotherHasTakenUnseenIsNotReleased(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, _ := lead(t)
		a.holds("thief", time.Now())
		leader.finish <- nil
		within(t, soon, "end", leader.ended)
		if leader.err != nil || a.holder() != "thief" {
			t.Errorf("got holder %q and %v, want the thief and no error", a.holder(), leader.err)
		}
		if is := leader.elector.State(); is.Leading || is.Holder != "thief" || !errors.Is(is.LastErr, lease.ErrLost) {
			t.Errorf("got %+v, want that it was lost to the thief", is)
		}
	})
}

func TestAReleasedLeaseIsAsClientGoWritesIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		a.holds("", time.Now())
		p := start(t, a, "one")
		within(t, soon, "lead", p.leading)
		p.stop()
		<-p.done
		spec := a.get().Spec
		if *spec.HolderIdentity != "" || *spec.LeaseDurationSeconds != 1 || *spec.LeaseTransitions != 5 ||
			!spec.RenewTime.Equal(&metav1.MicroTime{Time: time.Now()}) || !spec.AcquireTime.Equal(spec.RenewTime) {
			t.Errorf("got %+v, want no holder, one second, and now", spec)
		}
	})
}

func TestWorkThatEndsByItselfReleasesTheLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		want := errors.New("broken")
		leader.finish <- want
		within(t, soon, "end", leader.ended)
		if !errors.Is(leader.err, want) || errors.Is(leader.err, lease.ErrLost) {
			t.Errorf("got %v, want the work's own error", leader.err)
		}
		within(t, soon, "lead", standby.leading)
		if a.holder() != "two" {
			t.Errorf("got holder %q, want two", a.holder())
		}
	})
}

func TestTheHolderRenewsEveryTwoSecondsAndKeepsTheRest(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, _ := lead(t)
		a.change(func(l *coordinationv1.Lease) *coordinationv1.Lease {
			l.Labels = map[string]string{"team": "ours"}
			return l
		})
		before, acquired := a.count("one", "update"), a.get().Spec.AcquireTime
		time.Sleep(10 * time.Minute)
		if got := a.count("one", "update") - before; got < 299 || got > 302 {
			t.Errorf("got %d renewals in ten minutes, want 300", got)
		}
		held := a.get()
		if held.Labels["team"] != "ours" || !held.Spec.AcquireTime.Equal(acquired) || *held.Spec.LeaseTransitions != 0 {
			t.Errorf("got %+v, want the label kept, and acquired as before", held)
		}
		if left := leader.elector.Remaining(); left < lease.RenewDeadline-lease.RetryPeriod {
			t.Errorf("got %s left, want at least 8 s", left)
		}
		if got := len(leader.told()); got != 1 {
			t.Errorf("got %d things told, want one", got)
		}
	})
}

// Contract 29: writes end before another may lead, whether requests are refused
// or swallowed, or their answers are.
func TestContract29ALeaderThatIsCutOffEndsBeforeAnotherLeads(t *testing.T) {
	for name, do := range map[string]outcome{"refused": refused, "hanging": hanging, "deferred": deferred} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				a, leader, standby := lead(t)
				leader.client.set(func(string) outcome { return do })
				cut := time.Now()
				within(t, lease.RenewDeadline, "may not write", func() bool {
					if standby.elector.Remaining() > 0 {
						t.Fatal("two may write")
					}
					return leader.elector.Remaining() == 0
				})
				if took := time.Since(cut); took < lease.RenewDeadline-lease.RetryPeriod-soon {
					t.Errorf("it gives up after %s, want %s after its last renewal", took, lease.RenewDeadline)
				}
				within(t, soon, "the work is told to end", func() bool { return closed(leader.stopping) })
				within(t, lease.LeaseDuration, "another leads", standby.leading)
				if took := time.Since(cut); took < lease.LeaseDuration-lease.RetryPeriod-soon || took > lease.LeaseDuration+2*time.Second {
					t.Errorf("another leads after %s, want %s", took, lease.LeaseDuration)
				}
				leader.wantLost()
				time.Sleep(2 * time.Minute)
				if a.holder() != "two" || standby.elector.Remaining() == 0 {
					t.Errorf("got holder %q, want that what arrives late changes nothing", a.holder())
				}
			})
		})
	}
}

// Others count from the renewal, so its holder must not count from the answer.
func TestContract29ASlowAnswerProlongsNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, leader, standby := lead(t)
		leader.client.set(func(string) outcome { return slow })
		time.Sleep(lease.RetryPeriod + 3*time.Second)
		for range 6000 {
			if left := leader.elector.Remaining(); left > lease.RenewDeadline-3*time.Second || left == 0 {
				t.Fatalf("got %s left, want at most 7 s and some", left)
			}
			time.Sleep(10 * time.Millisecond)
		}
		wantLeading(t, []*process{leader, standby}, leader)
	})
}

// The work must stop at the deadline, and not before.
func TestAFewFailedRenewalsLoseNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, leader, standby := lead(t)
		for range 20 {
			leader.client.set(func(string) outcome { return refused })
			time.Sleep(7 * time.Second)
			leader.client.set(nil)
			time.Sleep(2 * time.Second)
		}
		wantLeading(t, []*process{leader, standby}, leader)
		if states := leader.told(); len(states) != 41 {
			t.Errorf("got %d things told, want one for leading and two for each outage", len(states))
		}
	})
}

func TestARenewalWhoseAnswerIsLostIsRecognised(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, leader, standby := lead(t)
		for range 20 {
			once := true
			leader.client.set(func(verb string) outcome {
				if verb == "update" && once {
					once = false
					return lost
				}
				return served
			})
			time.Sleep(10 * time.Second)
		}
		wantLeading(t, []*process{leader, standby}, leader)
	})
}

func TestALeaseThatAnotherHoldsIsLostAtOnce(t *testing.T) {
	for name, take := range map[string]func(*coordinationv1.Lease) *coordinationv1.Lease{
		"taken":     func(*coordinationv1.Lease) *coordinationv1.Lease { return held("thief", time.Now()) },
		"emptied":   func(*coordinationv1.Lease) *coordinationv1.Lease { return held("", time.Now()) },
		"same time": func(l *coordinationv1.Lease) *coordinationv1.Lease { *l.Spec.HolderIdentity = "thief"; return l },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				a := newAPI()
				leader := start(t, a, "one")
				within(t, soon, "lead", leader.leading)
				a.change(take)
				before := a.get()
				within(t, lease.RetryPeriod+soon, "may not write", func() bool { return leader.elector.Remaining() == 0 })
				leader.wantLost()
				if got := a.get(); got.ResourceVersion != before.ResourceVersion {
					t.Errorf("got %+v, want that another's lease is left alone", got)
				}
			})
		})
	}
}

func TestALeaseThatIsTakenWhileItIsMadeAnewIsLost(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		leader := start(t, a, "one")
		within(t, soon, "lead", leader.leading)
		a.change(func(*coordinationv1.Lease) *coordinationv1.Lease { return nil })
		leader.client.set(func(verb string) outcome {
			if verb == "create" && a.get() == nil {
				a.holds("thief", time.Now())
			}
			return served
		})
		leader.wantLost()
		if a.holder() != "thief" {
			t.Errorf("got holder %q, want the thief", a.holder())
		}
	})
}

// Contract 30: the whole exit takes less than ten seconds. The work has five of them,
// also when the API server does not answer.
func TestContract30AReleaseWithoutAnAnswerIsGivenUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, leader, standby := lead(t)
		leader.stop()
		time.Sleep(linger - soon)
		leader.client.set(func(string) outcome { return hanging })
		within(t, 3*time.Second+2*soon, "end", leader.ended)
		if leader.err != nil || leader.elector.State().LastErr == nil {
			t.Errorf("got %v and %+v, want no error but a note that the release failed", leader.err, leader.elector.State())
		}
		within(t, lease.LeaseDuration, "lead", standby.leading)
	})
}
