package health_test

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// slowAnswers is a check of one address that takes a time; 0 is for ever.
type slowAnswers struct {
	mu            sync.Mutex
	takes         time.Duration
	running, most int
	began         []time.Time
}

func (c *slowAnswers) check(ctx context.Context, a netip.Addr) inventory.Result {
	c.mu.Lock()
	c.running++
	c.most = max(c.most, c.running)
	at, takes := time.Now(), c.takes
	c.began = append(c.began, at)
	c.mu.Unlock()
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	return inventory.Result{Address: a, At: at, Outcome: inventory.Refused}
}

// alarmed runs a loop of one address.
func alarmed(t *testing.T, checks *slowAnswers, overlap time.Duration, story func(alarm func(), take func() []inventory.Result)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		loop := health.NewLoop(health.LoopOptions{Interval: 2 * time.Second, Overlap: overlap, Gather: 20 * time.Millisecond, Check: checks.check})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { loop.Run(ctx); close(done) }()
		a := netip.MustParseAddr("10.0.0.1")
		loop.Watch([]inventory.Watch{{Address: a}})
		story(func() { loop.Alarm(a, 3) }, loop.Take)
		cancel()
		<-done
	})
}

// TestContract12AnAlarmStartsNoCheckBesideOneThatIsAnswered: alarms at any moment of checks
// that are answered before they count as silent.
func TestContract12AnAlarmStartsNoCheckBesideOneThatIsAnswered(t *testing.T) {
	for _, overlap := range []time.Duration{0, 500 * time.Millisecond} {
		checks := &slowAnswers{takes: 400 * time.Millisecond}
		alarmed(t, checks, overlap, func(alarm func(), take func() []inventory.Result) {
			for range 100 {
				time.Sleep(130 * time.Millisecond)
				alarm()
				take()
			}
		})
		if checks.most != 1 {
			t.Errorf("overlap %s: got %d checks of one address at a time, want one", overlap, checks.most)
		}
		if len(checks.began) < 20 {
			t.Errorf("overlap %s: got %d checks in 13 s of alarms, want one after the other", overlap, len(checks.began))
		}
	}
}

// TestContract12AfterAnAlarmTheNextCheckFollowsTheOneThatRuns at once, because that one began
// before what the alarm tells of; and beside it once it is silent.
func TestContract12AfterAnAlarmTheNextCheckFollowsTheOneThatRuns(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		want  []time.Duration
	}{
		// Three of one alarm, a fast interval apart, after the one that ran.
		{100 * time.Millisecond, []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, 500 * time.Millisecond}},
		// No answer: half a time-out apart.
		{time.Minute, []time.Duration{0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond}},
	} {
		checks := &slowAnswers{takes: c.takes}
		alarmed(t, checks, 500*time.Millisecond, func(alarm func(), take func() []inventory.Result) {
			time.Sleep(50 * time.Millisecond)
			alarm()
			for range 160 {
				take()
				time.Sleep(10 * time.Millisecond)
			}
		})
		for i, want := range c.want {
			if i >= len(checks.began) {
				t.Fatalf("checks of %s: got %d, want %d", c.takes, len(checks.began), len(c.want))
			}
			if got := checks.began[i].Sub(checks.began[0]); got < want || got > want+30*time.Millisecond {
				t.Errorf("checks of %s: check %d began after %s, want %s", c.takes, i, got, want)
			}
		}
	}
}

// TestContract12WhatAnAlarmStillAsksForDoesNotWaitForASilentCheck: the first check has no
// answer, those after it fail, and their results are taken late.
func TestContract12WhatAnAlarmStillAsksForDoesNotWaitForASilentCheck(t *testing.T) {
	checks := &slowAnswers{takes: time.Minute}
	alarmed(t, checks, 500*time.Millisecond, func(alarm func(), take func() []inventory.Result) {
		time.Sleep(50 * time.Millisecond)
		checks.mu.Lock()
		checks.takes = 10 * time.Millisecond
		checks.mu.Unlock()
		alarm()
		time.Sleep(1950 * time.Millisecond)
		if got := len(take()); got != 2 {
			t.Errorf("got %d results, want two beside the check without an answer", got)
		}
		time.Sleep(20 * time.Millisecond)
	})
	if last := checks.began[len(checks.began)-1].Sub(checks.began[0]); len(checks.began) != 4 || last < 2*time.Second {
		t.Errorf("got %d checks, the last after %s, want a fourth one once results were taken after 2 s", len(checks.began), last)
	}
}
