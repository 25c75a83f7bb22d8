package publish

import (
	"errors"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
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
// it is. RetryAfter is the pause that the server asked for, 0 where it named none.
func Unavailable(err error, retryAfter time.Duration) error {
	return marked{&transport.RetryAfterError{Err: err, After: retryAfter}, ErrUnavailable}
}

// ErrRefused is what a store's Write wraps when the API server refuses what the write
// says, by an admission policy, a webhook, a quota, a right or its validation: it would
// refuse the same again.
var ErrRefused = errors.New("the API server refuses the write")

// Refused returns err as one that wraps ErrRefused too. Its text stays as it is.
func Refused(err error) error { return marked{err, ErrRefused} }

// marked is an error that wraps another one, which its text does not name.
type marked struct{ err, as error }

func (m marked) Error() string { return m.err.Error() }

func (m marked) Unwrap() []error { return []error{m.as, m.err} }
