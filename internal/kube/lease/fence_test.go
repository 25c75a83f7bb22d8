package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// work counts how often it is done. If the test sets it so, it hangs until its
// context ends.
type work struct {
	done int
	hang bool
}

func (w *work) do(ctx context.Context) error {
	w.done++
	if w.hang {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

func TestContract29NothingIsWrittenWithoutTheLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		a.holds("other", time.Now())
		leader := start(t, a, "one")
		inner := &work{}
		want := func(when string, may bool) {
			t.Helper()
			before := inner.done
			err := leader.elector.Fence(t.Context(), inner.do)
			if did := inner.done > before; did != may || errors.Is(err, lease.ErrLost) == may {
				t.Errorf("%s: got done %t and %v, want %t", when, did, err, may)
			}
		}
		want("standing by", false)
		within(t, lease.LeaseDuration+soon, "lead", leader.leading)
		want("leading", true)
		leader.client.set(func(string) outcome { return hanging })
		time.Sleep(lease.RenewDeadline - lease.RetryPeriod)
		want("in doubt", true)
		time.Sleep(lease.RetryPeriod)
		want("lost", false)
		leader.wantLost()
		want("ended", false)
	})
}

func TestNothingIsWrittenOnceTheLeaseIsBeingReleased(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, leader, _ := lead(t)
		fence := func() error { return leader.elector.Fence(t.Context(), (&work{}).do) }
		leader.stop()
		time.Sleep(linger - soon)
		if err := fence(); err != nil {
			t.Errorf("got %v while the work ends, want no error", err)
		}
		leader.client.set(func(string) outcome { return hanging })
		time.Sleep(2 * soon)
		if err := fence(); leader.ended() || !errors.Is(err, lease.ErrLost) {
			t.Errorf("got %v during the release, want ErrLost", err)
		}
	})
}

func TestAWriteUnderWayEndsWhenTheLeaseDoes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, leader, standby := lead(t)
		leader.client.set(func(string) outcome { return refused })
		left := leader.elector.Remaining()
		began := time.Now()
		err := leader.elector.Fence(t.Context(), (&work{hang: true}).do)
		if took := time.Since(began); (took-left).Abs() > time.Millisecond || !errors.Is(err, lease.ErrLost) {
			t.Errorf("got %v after %s, want ErrLost after %s", err, took, left)
		}
		if standby.leading() {
			t.Error("another leads while a write was under way")
		}
	})
}
