package plan

import (
	"errors"
	"time"
)

// ErrUnavailable is what a store wraps when the API server cannot be reached or
// asks for a pause, so that any other request would fail as well:
//
//	unavailable                                 not: it concerns this slice alone
//	no connection: refused, no route, no name,  no answer in time to a request
//	TLS, or none within the request's time      that was sent
//	a connection that broke (reset, closed)     403, 404, 409, 422, a quota, 500
//	429, 503                                    a webhook's denial, with any status
var ErrUnavailable = errors.New("the API server is not available")

// Unavailable returns err as one that wraps ErrUnavailable too. Its text stays as
// it is. RetryAfter is the pause that the server asked for, 0 where it named none;
// the error's method of that name returns it.
func Unavailable(err error, retryAfter time.Duration) error {
	return &unavailable{cause: err, after: retryAfter}
}

type unavailable struct {
	cause error
	after time.Duration
}

func (e *unavailable) Error() string { return e.cause.Error() }

func (e *unavailable) Unwrap() []error { return []error{ErrUnavailable, e.cause} }

// RetryAfter is the pause that the server asked for, 0 for none.
func (e *unavailable) RetryAfter() time.Duration { return e.after }
