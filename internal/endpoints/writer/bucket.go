package writer

import "time"

// bucket holds tokens: interval by interval comes one back, and those of a window are saved.
// With an interval of 0 there is no bound.
type bucket struct {
	interval, window time.Duration
	// full is when the last token that was taken has come back.
	full time.Time
}

// take takes a token.
func (b *bucket) take(now time.Time) { b.full = later(b.full, now).Add(b.interval) }

// next returns when there is a token.
func (b *bucket) next() time.Time { return b.full.Add(b.interval - b.window) }
