package writer

import "time"

// window is for how long the bucket of all targets saves what it may spend.
const window = 10 * time.Second

// bucket holds the tokens of all targets together. It gives interval by interval a
// token, and saves those of a window; an interval of 0 means that there is no bound.
type bucket struct {
	interval time.Duration
	// full is when the last token that was taken has come back.
	full time.Time
}

// newBucket returns a full one.
func newBucket(perSecond int) bucket {
	if perSecond == 0 {
		return bucket{}
	}
	return bucket{interval: time.Second / time.Duration(perSecond)}
}

// take takes a token.
func (b *bucket) take(now time.Time) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.interval)
}

// next returns when there is a token.
func (b *bucket) next() time.Time { return b.full.Add(b.interval - window) }
