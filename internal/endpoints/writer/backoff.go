package writer

import (
	"context"
	"errors"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

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
