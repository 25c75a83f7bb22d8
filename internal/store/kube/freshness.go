package kube

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// longestSilence is how long after its last answer a watch counts as current. It is
// opened anew each minute, and a Role that is applied anew may be gone for a moment.
const longestSilence = longestWatch + 15*time.Second

// freshness says whether what a watch has told is current:
//
//	before the first complete answer     nothing is known (await)
//	accepted within longestSilence       current
//	refused or silent for longer         stale
type freshness struct {
	what string
	done chan struct{} // closed by the first complete answer
	once *sync.Once

	mu sync.Mutex
	// known is when the server last accepted a request, and last why it did not
	// since.
	known time.Time
	last  error
}

func newFreshness(what string) freshness {
	return freshness{what: what, done: make(chan struct{}), once: new(sync.Once)}
}

// synced is called by each complete answer.
func (f *freshness) synced() {
	f.once.Do(func() { close(f.done) })
	f.answered(nil)
}

// answered notes what came of a request: nil for one that was accepted.
func (f *freshness) answered(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = available(err)
	if err == nil {
		f.known = time.Now()
	}
}

// await waits for the first complete answer, or for the end of ctx.
func (f *freshness) await(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		return fmt.Errorf("no answer yet to the watch of %s: %w", f.what, ctx.Err())
	}
	return fmt.Errorf("no answer yet to the watch of %s: %w; last: %w", f.what, ctx.Err(), f.last)
}

// stale says since when what is known of the watch may be out of date, and why; nil
// while it is current.
func (f *freshness) stale(now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known.IsZero() || now.Sub(f.known) < longestSilence { // of the first, await tells
		return nil
	}
	since := f.known.UTC().Format(time.RFC3339)
	if f.last == nil {
		return fmt.Errorf("the watch of %s has sent nothing since %s", f.what, since)
	}
	return fmt.Errorf("the watch of %s has sent nothing since %s: %w", f.what, since, f.last)
}
