package syncer

import (
	"context"
	"errors"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// reading is one attempt to read the source.
type reading struct {
	nodes     []inventory.Node
	err       error
	scheduled bool
	// at is when it began, next when the next is due by schedule.
	at, next time.Time
	took     time.Duration
}

// read asks the source once, within SourceTimeout.
func (o Options) read(ctx context.Context, scheduled bool) reading {
	r := reading{scheduled: scheduled, at: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, o.SourceTimeout)
	defer cancel()
	r.nodes, r.err = o.Source.Read(ctx)
	r.took = time.Since(r.at)
	return r
}

// readLoop reads again and again until ctx ends: a poll interval after the last
// scheduled read, at once when the source signals a change, and after a pause
// that grows when a read fails. At most one read is in flight.
func (s *Syncer) readLoop(ctx context.Context, out chan<- reading) {
	failures := backoff{random: s.opts.Random}
	scheduled := true
	due := time.NewTimer(s.opts.PollInterval)
	defer due.Stop()
	var next time.Time
	for {
		r := s.opts.read(ctx, scheduled)
		if ctx.Err() != nil {
			return
		}
		after := retryAfter(r.err)
		switch {
		case r.err != nil:
			next = time.Now().Add(max(failures.next(backoffMax), after))
		case scheduled:
			failures.reset()
			next = time.Now().Add(s.opts.jitter(s.opts.PollInterval))
		default:
			failures.reset()
		}
		r.next = next
		due.Reset(max(time.Nanosecond, time.Until(next)))
		select {
		case out <- r:
		case <-ctx.Done():
			return
		}
		// Until then not even a change that the source signals is a reason.
		if after > 0 && !pause(ctx, after) {
			return
		}
		signals := changes(s.opts.Source)
		if !time.Now().Before(next) {
			signals = nil // the next read is due anyway
		}
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			scheduled = true
		case <-signals:
			scheduled = false
		}
	}
}

// pause waits, and reports whether ctx is still there after it.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// changes returns the change signals of a source or store, nil if it has none.
func changes(of any) <-chan struct{} {
	if n, ok := of.(Notifier); ok {
		return n.Changed()
	}
	return nil
}

// retryAfter returns how long the error asks to wait, or 0.
func retryAfter(err error) time.Duration {
	if err == nil {
		return 0
	}
	var asks interface{ RetryAfter() time.Duration }
	if errors.As(err, &asks) {
		return asks.RetryAfter()
	}
	return 0
}

// jitter spreads d by 10 % either way.
func (o Options) jitter(d time.Duration) time.Duration {
	return d + time.Duration((o.Random()-0.5)*0.2*float64(d))
}

// backoff counts failures in a row.
type backoff struct {
	random   func() float64
	failures int
}

// next returns how long to wait after one more failure: anything up to a bound
// that doubles from backoffMin to high ("full jitter").
func (b *backoff) next(high time.Duration) time.Duration {
	bound := min(backoffMin<<min(b.failures, 20), high)
	b.failures++
	return time.Duration(b.random()*float64(bound)) + 1
}

// reset forgets the failures.
func (b *backoff) reset() { b.failures = 0 }
