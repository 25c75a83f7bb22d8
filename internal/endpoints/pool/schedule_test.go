package pool_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// retryLater is an error as an API that throttles answers it.
func retryLater(after time.Duration) error {
	return &transport.RetryAfterError{Err: errors.New("too many requests"), After: after}
}

var errBroken = errors.New("no such file")

// attempt is one read: when it began and ended, after the first one.
type attempt struct {
	began, ended time.Duration
	scheduled    bool
	err          error
}

func TestContract03WhenTheSourceIsReadNext(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		interval  time.Duration
		free      bool
		random    float64
		attempts  []attempt
		want      time.Duration
		scheduled bool
	}{
		"after a success, an interval later": {
			30 * s, false, 0.5, []attempt{{0, s, true, nil}}, 31 * s, true,
		},
		"which is a tenth shorter at the least": {
			30 * s, false, 0, []attempt{{0, 0, true, nil}}, 27 * s, true,
		},
		"or a tenth longer": {
			30 * s, false, 1, []attempt{{0, 0, true, nil}}, 33 * s, true,
		},
		"a change signal does not move that": {
			30 * s, false, 0.5, []attempt{{0, 0, true, nil}, {10 * s, 11 * s, false, nil}}, 30 * s, true,
		},
		"even if its read goes on beyond that": {
			30 * s, false, 0.5, []attempt{{0, 0, true, nil}, {29 * s, 31 * s, false, nil}}, 30 * s, true,
		},
		"after an error, a retry": {
			30 * s, false, 0.5, []attempt{{0, 0, true, errBroken}}, s/2 + 1, false,
		},
		"after three, a longer pause": {
			30 * s, false, 0.5, []attempt{{0, 0, true, errBroken}, {s, s, false, errBroken}, {2 * s, 2 * s, false, errBroken}}, 4*s + 1, false,
		},
		"a success ends that": {
			30 * s, false, 0.5, []attempt{{0, 0, true, errBroken}, {s, s, false, nil}}, 30 * s, true,
		},
		"and the count of failures": {
			30 * s, false, 0.5, []attempt{{0, 0, true, errBroken}, {s, s, false, errBroken}, {2 * s, 2 * s, false, nil}, {9 * s, 9 * s, false, errBroken}}, 9*s + s/2 + 1, false,
		},
		"a poll waits for a retry": {
			30 * s, false, 0.5, []attempt{{0, 0, true, errBroken}, {29 * s, 29 * s, false, errBroken}, {29*s + 1, 29*s + 1, false, errBroken}}, 31*s + 2, false,
		},
		"and when that comes later and succeeds, it was no poll": {
			30 * s, false, 0.5, []attempt{{0, 0, true, errBroken}, {31 * s, 31 * s, false, nil}}, 61 * s, true,
		},
		"Retry-After is longer than the back-off": {
			30 * s, false, 0.5, []attempt{{0, 0, true, retryLater(9 * s)}}, 9 * s, false,
		},
		"the back-off is longer than Retry-After": {
			30 * s, false, 0.5, []attempt{{0, 0, true, errBroken}, {s, s, false, retryLater(s / 2)}}, 2*s + 1, false,
		},
		"free: a second after an error": {
			30 * s, true, 0.5, []attempt{{0, 0, true, errBroken}}, s, false,
		},
		"free: and never later": {
			30 * s, true, 0.5, []attempt{{0, 0, true, errBroken}, {s, s, false, errBroken}, {2 * s, 2 * s, false, errBroken}}, 3 * s, false,
		},
		"free: an interval that is shorter": {
			s / 4, true, 1, []attempt{{0, 0, true, errBroken}}, s / 4, false,
		},
		"free: the poll goes on": {
			30 * s, true, 0.5, []attempt{{0, 0, true, errBroken}, {29*s + s/2, 29*s + s/2, false, errBroken}}, 30 * s, true,
		},
		"free: and is the one of both that counts": {
			s, true, 0.5, []attempt{{0, 0, true, errBroken}}, s, true,
		},
		"free: Retry-After holds for the poll too": {
			30 * s, true, 0.5, []attempt{{0, 0, true, retryLater(40 * s)}}, 40 * s, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			sched := pool.NewSchedule(c.interval, c.free, func() float64 { return c.random })
			for _, a := range c.attempts {
				sched.Took(pool.Attempt{At: start.Add(a.began), Scheduled: a.scheduled, Err: a.err}, start.Add(a.ended))
			}
			at, scheduled := sched.Next()
			if got := at.Sub(start); got != c.want || scheduled != c.scheduled {
				t.Errorf("got %s, scheduled: %t, want %s, %t", got, scheduled, c.want, c.scheduled)
			}
		})
	}
}

func TestContract03TheBackOffDoublesUpToFiveMinutes(t *testing.T) {
	sched := pool.NewSchedule(30*time.Second, false, func() float64 { return 1 })
	now := time.Now()
	for i, seconds := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		want := time.Duration(seconds) * time.Second
		sched.Took(pool.Attempt{At: now, Scheduled: i == 0, Err: errBroken}, now)
		at, _ := sched.Next()
		if got := at.Sub(now).Round(time.Millisecond); got != want {
			t.Errorf("failure %d: got %s, want %s", i+1, got, want)
		}
		now = at
	}
}

func TestContract03AReadThatIsTooLateNamesItsTimeout(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.takes = time.Minute
		err := pool.NewReader(w.opts.ReaderOptions).Read(t.Context()).Err
		if want := "no complete answer within SOURCE_TIMEOUT=20s"; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q that wraps the deadline", err, want)
		}
	})
}
