package writer

import (
	"context"
	"errors"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// Server is what is known of the API server, for all outboxes whose writes go there. They
// count the requests in flight.
type Server struct {
	// Lanes is how many requests may be in flight, each for another slice.
	Lanes int
	// Underway is how many are, and Retrying how many of those try again what failed.
	Underway, Retrying int
	outage             outage
}

// Free reports whether a request may be sent at now.
func (s *Server) Free(now time.Time) bool { return s.Underway < s.Lanes && s.Takes(now) }

// Takes reports whether nothing but a lane is needed for that. While the server cannot be
// reached there is only one request.
func (s *Server) Takes(now time.Time) bool {
	return !now.Before(s.outage.until) && (s.Underway == 0 || !s.outage.lasts(now))
}

// TakesRetries reports whether one more request may try again what failed. Where there are
// several lanes, one is left for what did not fail.
func (s *Server) TakesRetries() bool { return s.Retrying < min(failingLanes, max(1, s.Lanes-1)) }

// count counts a request that begins, or with -1 one that has ended.
func (s *Server) count(retry bool, n int) {
	s.Underway += n
	if retry {
		s.Retrying += n
	}
}

// Wake returns when time alone lets the server take a request again, zero if it does
// not.
func (s *Server) Wake(now time.Time) time.Time {
	if !now.Before(s.outage.until) {
		return time.Time{}
	}
	return s.outage.until
}

// outage is that the server cannot be reached, or asks for a pause.
type outage struct {
	// failures counts them in a row, and until is when the next try is due.
	failures int
	until    time.Time
	// since is when the newest one that counted came: requests that were sent
	// before it met the same outage.
	since time.Time
	// asked is until when the server asked for a pause.
	asked time.Time
}

// begin notes a failure. Those of requests that were sent before the last one
// came are the same failure: back-off counts time, not requests.
func (u *outage) begin(result Result, now time.Time, random func() float64) {
	if !u.lasts(now) {
		u.over(now)
	}
	if u.failures == 0 || result.Sent.After(u.since) {
		u.until = later(u.until, now.Add(backoff(u.failures, random)))
		u.failures++
		u.since = now
	}
	if wait := transport.RetryAfterOf(result.Err); wait > 0 {
		u.asked = later(u.asked, now.Add(wait))
		u.until = later(u.until, u.asked)
	}
}

// over notes that the server answers. A server that asked for a pause still answers
// requests sent before.
func (u *outage) over(now time.Time) {
	if !now.Before(u.asked) {
		*u = outage{}
	}
}

// lasts reports whether the server cannot be reached as far as is known. It
// is over when no request has failed for long after the next try was due.
func (u *outage) lasts(now time.Time) bool {
	return u.failures > 0 && now.Before(u.until.Add(backoffMax))
}

// Answered reports whether the API server answered a write that ended with err,
// whatever it said. A write without an answer may have landed.
func Answered(err error) bool {
	return !errors.Is(err, publish.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded)
}

// backoff returns how long to wait after one more failure: anything up to a bound
// that doubles from backoffMin to backoffMax ("full jitter").
func backoff(failures int, random func() float64) time.Duration {
	bound := min(backoffMin<<min(failures, 20), backoffMax)
	return time.Duration(random()*float64(bound)) + 1
}
