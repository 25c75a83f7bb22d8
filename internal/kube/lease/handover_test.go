package lease_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// The annotations of a hand-over, as other programs read them.
const (
	successorAnnotation  = "endpoints.ablmnzde.github.io/successor"
	handedOverAnnotation = "endpoints.ablmnzde.github.io/handed-over-at"
)

// handOver hands the Lease over, and waits for its end.
func (p *process) handOver(to string) {
	p.t.Helper()
	p.elector.HandOver(to)
	within(p.t, linger+soon, "end", p.ended)
	if !errors.Is(p.err, lease.ErrHandedOver) || errors.Is(p.err, lease.ErrLost) || !errors.Is(p.cause, lease.ErrHandedOver) {
		p.t.Errorf("%s ends with %v because of %v, want that it is handed over", p.client.who, p.err, p.cause)
	}
}

// TestContract241TheLeaseGoesToTheSuccessor while two other replicas stand by.
func TestContract241TheLeaseGoesToTheSuccessor(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		successor, third := start(t, a, "three"), start(t, a, "four")
		time.Sleep(time.Second)
		for _, to := range []string{"", "one"} {
			leader.elector.HandOver(to)
		}
		standby.elector.HandOver("four")
		synctest.Wait()
		wantLeading(t, []*process{leader, standby, successor, third}, leader)
		leader.elector.HandOver("three")
		leader.elector.HandOver("four") // it is given away already
		time.Sleep(linger - soon)
		if a.holder() != "one" || leader.elector.Remaining() == 0 {
			t.Fatal("the lease is free although the work has not ended")
		}
		within(t, 2*soon, "end", leader.ended)
		if !errors.Is(leader.err, lease.ErrHandedOver) || !errors.Is(leader.cause, lease.ErrHandedOver) {
			t.Errorf("got %v because of %v, want that it is handed over", leader.err, leader.cause)
		}
		at := time.Now()
		within(t, soon, "lead", successor.leading)
		time.Sleep(time.Minute)
		wantLeading(t, []*process{standby, successor, third}, successor)
		for _, p := range []*process{leader, standby, successor, third} {
			if got := p.elector.State().HandedOver; at.Sub(got) < 0 || at.Sub(got) > soon {
				t.Errorf("%s says handed over at %s, want %s", p.client.who, got, at)
			}
		}
		if got := a.get().Annotations[successorAnnotation]; got != "" {
			t.Errorf("the successor %q is left", got)
		}
	})
}

// TestContract241OthersTakeOverWhereTheSuccessorIsGone after RetryPeriod.
func TestContract241OthersTakeOverWhereTheSuccessorIsGone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, standby := lead(t)
		leader.handOver("gone")
		if got := a.get().Annotations[successorAnnotation]; got != "gone" {
			t.Errorf("got the successor %q, want gone", got)
		}
		time.Sleep(lease.RetryPeriod - 2*soon)
		if standby.leading() {
			t.Fatal("another takes the lease before the successor could")
		}
		within(t, 3*soon, "lead", standby.leading)
	})
}

func TestContract241TheTimeOfTheHandOverIsKeptByFollowingHolders(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, next := lead(t)
		leader.handOver("two")
		at := leader.elector.State().HandedOver
		for _, who := range []string{"three", "four", "five", "six"} {
			within(t, lease.LeaseDuration+soon, "lead", next.leading)
			heir := start(t, a, who)
			time.Sleep(time.Minute)
			switch who {
			case "three":
				next.stop() // released
			case "four":
				a.change(func(*coordinationv1.Lease) *coordinationv1.Lease { return nil }) // made anew
				time.Sleep(time.Minute)
				next.stop()
			case "five":
				next.client.set(func(string) outcome { return refused }) // expired
			case "six":
				a.change(func(l *coordinationv1.Lease) *coordinationv1.Lease { // taken by another version, which then dies
					old := "old"
					l.Spec.HolderIdentity = &old
					return l
				})
			}
			time.Sleep(2 * lease.LeaseDuration)
			if got := heir.elector.State(); !got.HandedOver.Equal(at) || !got.Leading {
				t.Errorf("%s: got %+v, want handed over at %s", who, got, at)
			}
			next = heir
		}
		next.handOver("gone")
		if got := next.elector.State().HandedOver; !got.After(at) {
			t.Errorf("got %s, want the time of the second hand-over", got)
		}
	})
}

// A wrong clock must not keep the Lease where it is, nor keep a dead holder in office.
func TestContract241ATimeInTheFutureCountsAsNow(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		a.change(func(*coordinationv1.Lease) *coordinationv1.Lease {
			l := held("dead", time.Now())
			l.Annotations = map[string]string{handedOverAnnotation: "2999-01-01T00:00:00+02:07"}
			return l
		})
		p := start(t, a, "one")
		time.Sleep(time.Second)
		if got := p.elector.State().HandedOver; got.After(time.Now()) || got.IsZero() {
			t.Errorf("got %s, want now at most", got)
		}
		within(t, lease.LeaseDuration+soon, "lead", p.leading)
		at := p.elector.State().HandedOver
		time.Sleep(time.Hour)
		if got := time.Since(p.elector.State().HandedOver); got < time.Hour {
			t.Errorf("got handed over %s ago, want since it leads, at %s", got, at)
		}
		for _, none := range []string{"", "yesterday", "12"} {
			a.change(func(l *coordinationv1.Lease) *coordinationv1.Lease {
				l.Annotations[handedOverAnnotation] = none
				return l
			})
			time.Sleep(lease.RetryPeriod + soon)
			if got := p.elector.State().HandedOver; !got.IsZero() {
				t.Errorf("%q: got %s, want never", none, got)
			}
		}
	})
}

// A holder of an older version keeps the name of a successor, and releases the Lease for all.
func TestAnOlderHandOverKeepsNobodyFromAReleasedLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		a.change(func(*coordinationv1.Lease) *coordinationv1.Lease {
			l := held("", time.Now())
			l.Annotations = map[string]string{successorAnnotation: "gone", handedOverAnnotation: time.Now().Add(-time.Second).UTC().Format(metav1.RFC3339Micro)}
			return l
		})
		p := start(t, a, "one")
		within(t, soon, "lead", p.leading)
	})
}

// What cannot be released expires.
func TestAHandOverThatCannotBeWrittenExpires(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, leader, standby := lead(t)
		leader.elector.HandOver("two")
		time.Sleep(linger - soon)
		leader.client.set(func(string) outcome { return hanging })
		within(t, 3*time.Second+2*soon, "end", leader.ended)
		if !errors.Is(leader.err, lease.ErrHandedOver) || leader.elector.State().LastErr == nil {
			t.Errorf("got %v and %+v, want that it was handed over and why that failed", leader.err, leader.elector.State())
		}
		leader.elector.HandOver("two") // too late, and harmless
		within(t, lease.LeaseDuration, "lead", standby.leading)
	})
}

func TestALeaseThatIsLostIsNotHandedOver(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, leader, _ := lead(t)
		leader.elector.HandOver("two")
		a.holds("thief", time.Now())
		leader.wantLost()
		if a.holder() != "thief" || errors.Is(leader.err, lease.ErrHandedOver) {
			t.Errorf("got holder %q and %v, want the thief", a.holder(), leader.err)
		}
	})
}
