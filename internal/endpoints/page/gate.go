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

// gate lets a bounded number through at a time.
type gate struct{ places chan struct{} }

func newGate(places int) gate { return gate{make(chan struct{}, places)} }

// enter takes a place, and reports false if none becomes free within turnTime.
func (g gate) enter(ctx context.Context) bool {
	timer := time.NewTimer(turnTime)
	defer timer.Stop()
	select {
	case g.places <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// leave gives the place back.
func (g gate) leave() { <-g.places }
