package election_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/election"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// store counts what reaches it; its writes hang until their context ends where
// they are told to.
type store struct {
	loads, writes int
	hang          bool
	changed       chan struct{}
}

func (s *store) Load(context.Context) (plan.State, error) {
	s.loads++
	return plan.State{Slices: []plan.Slice{{Name: "web-remote"}}}, nil
}

func (s *store) Write(ctx context.Context, _ plan.Write) error {
	s.writes++
	if s.hang {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

func (s *store) Changed() <-chan struct{} { return s.changed }

func TestContract29NothingIsWrittenWithoutTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.holds("other", time.Now())
		leader := start(t, a, "one")
		inner := &store{}
		fence := leader.elector.Fence(inner)
		want := func(when string, may bool) {
			t.Helper()
			before := inner.writes
			err := fence.Write(t.Context(), plan.Write{})
			if wrote := inner.writes > before; wrote != may || errors.Is(err, election.ErrLost) == may {
				t.Errorf("%s: got written %t and %v, want %t", when, wrote, err, may)
			}
			if state, err := fence.Load(t.Context()); err != nil || len(state.Slices) != 1 {
				t.Errorf("%s: got %+v and %v, want what the store loads", when, state, err)
			}
		}
		want("standing by", false)
		within(t, election.LeaseDuration+soon, "lead", leader.leading)
		want("leading", true)
		leader.client.set(func(string) outcome { return hanging })
		time.Sleep(election.RenewDeadline - election.RetryPeriod)
		want("in doubt", true)
		time.Sleep(election.RetryPeriod)
		want("lost", false)
		leader.wantLost()
		want("ended", false)
	})
}

func TestNothingIsWrittenOnceTheLeaseIsBeingReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, leader, _ := lead(t)
		fence := leader.elector.Fence(&store{})
		leader.stop()
		time.Sleep(linger - soon)
		if err := fence.Write(t.Context(), plan.Write{}); err != nil {
			t.Errorf("got %v while the work ends, want no error", err)
		}
		leader.client.set(func(string) outcome { return hanging })
		time.Sleep(2 * soon)
		if err := fence.Write(t.Context(), plan.Write{}); leader.ended() || !errors.Is(err, election.ErrLost) {
			t.Errorf("got %v during the release, want ErrLost", err)
		}
	})
}

func TestAWriteUnderWayEndsWhenTheLeaseDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, leader, standby := lead(t)
		fence := leader.elector.Fence(&store{hang: true})
		leader.client.set(func(string) outcome { return refused })
		left := leader.elector.Remaining()
		began := time.Now()
		err := fence.Write(t.Context(), plan.Write{})
		if took := time.Since(began); took != left || !errors.Is(err, election.ErrLost) {
			t.Errorf("got %v after %s, want ErrLost after %s", err, took, left)
		}
		if standby.leading() {
			t.Error("another leads while a write was under way")
		}
	})
}

func TestTheFencePassesSignalsOn(t *testing.T) {
	elector := prepare(t, newAPI(), "one").elector
	inner := &store{changed: make(chan struct{})}
	if got := elector.Fence(inner).Changed(); got != (<-chan struct{})(inner.changed) {
		t.Error("got another channel, want the store's")
	}
	if got := elector.Fence(struct{ election.Store }{inner}).Changed(); got != nil {
		t.Error("got a channel of a store that has none, want nil")
	}
}
