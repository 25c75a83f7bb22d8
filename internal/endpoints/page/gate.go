package page

import (
	"context"
	"time"
)

const (
	// maxRendering is how many documents are made and rendered at once: of two
	// processors the loop still gets its share.
	maxRendering = 2
	// maxSending is how many answers wait in memory for slow readers. One of 5,000
	// nodes has up to 5 MB.
	maxSending = 8
	// turnTime is how long a request waits for its turn.
	turnTime = time.Second
	// retryAfter is the Retry-After of a request that got no turn, in seconds.
	retryAfter = "2"
)

// gate lets as many through at a time as it has room for.
type gate chan struct{}

// enter takes a place, and reports false if none becomes free within turnTime.
func (g gate) enter(ctx context.Context) bool {
	select {
	case g <- struct{}{}:
		return true
	case <-time.After(turnTime):
	case <-ctx.Done():
	}
	return false
}

// leave gives the place back.
func (g gate) leave() { <-g }
