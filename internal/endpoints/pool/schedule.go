package pool

import (
	"context"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

const (
	// backoffMin and backoffMax bound the wait after a failed read (contract 3).
	backoffMin = time.Second
	backoffMax = 5 * time.Minute
)

// Attempt is one attempt to read the source.
type Attempt struct {
	// Nodes is the complete answer, unless there is an error.
	Nodes []inventory.Node
	Err   error
	// Scheduled says that the poll interval brought the read, not a change signal
	// or a retry after an error.
	Scheduled bool
	// At is when it began, Took how long it took, and Next when the next one is
	// due.
	At, Next time.Time
	Took     time.Duration
}

// awaitNext waits until the source is to be read again, and reports whether the
// poll interval says so.
func (p *Reader) awaitNext(ctx context.Context, s *schedule, timer *time.Timer) (scheduled bool) {
	for {
		now := time.Now()
		at, scheduled := s.next()
		if !now.Before(at) {
			at = now // a signal must not take the place of a read that is due
		}
		signals := p.opts.Changed
		if now.Before(s.silence) {
			signals = nil
			at = earlier(at, s.silence)
		}
		timer.Reset(max(time.Nanosecond, at.Sub(now)))
		if at.Equal(now) {
			signals = nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-signals:
			return false
		case <-timer.C:
		}
		if due, _ := s.next(); !time.Now().Before(due) {
			return scheduled
		}
	}
}

// schedule says when the source is read next (contract 3):
//
//	after            next
//	a success        a poll interval after the last scheduled read
//	an error         after a back-off or Retry-After; a poll waits for that
//	an error, free   a second later; polls go on unless there is a Retry-After
//
// What a retry or a change signal brings is not scheduled.
type schedule struct {
	interval time.Duration
	free     bool
	random   func() float64
	// poll is when the interval is over, and retry when the last error is tried
	// again, zero after a success.
	poll, retry time.Time
	failures    int
	// silence is until when no read may begin (Retry-After).
	silence time.Time
}

// took notes an attempt that ended at now.
func (s *schedule) took(r Attempt, now time.Time) {
	if r.Scheduled || r.Err == nil && !r.At.Before(s.poll) {
		s.poll = now.Add(s.interval + time.Duration((s.random()-0.5)*0.2*float64(s.interval)))
	}
	after := transport.RetryAfterOf(r.Err)
	s.silence = now.Add(after)
	switch {
	case r.Err == nil:
		s.retry, s.failures = time.Time{}, 0
	case s.free:
		s.retry = now.Add(max(after, min(s.interval, backoffMin)))
	default:
		s.retry = now.Add(max(after, s.backoff()))
		s.failures++
	}
}

// next returns when the source is read next if no signal comes, and whether that
// is a scheduled read.
func (s *schedule) next() (at time.Time, scheduled bool) {
	switch {
	case s.retry.IsZero():
		return s.poll, true
	case s.free && !s.poll.After(s.retry) && !s.poll.Before(s.silence):
		return s.poll, true
	}
	return s.retry, false
}

// backoff returns how long to wait after one more failure: anything up to a bound
// that doubles ("full jitter").
func (s *schedule) backoff() time.Duration {
	bound := min(backoffMin<<min(s.failures, 20), backoffMax)
	return time.Duration(s.random()*float64(bound)) + 1
}

// earlier returns the earlier of two times of which a zero one means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
