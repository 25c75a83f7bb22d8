package transport

import (
	"sync/atomic"
	"time"
)

// Beat is when a loop last came round. The zero value is that of one that does not run.
type Beat struct{ last atomic.Pointer[time.Time] }

// Came notes that the loop came round.
func (b *Beat) Came() { b.last.Store(new(time.Now())) }

// Ended notes that it does not run any more.
func (b *Beat) Ended() { b.last.Store(nil) }

// Age returns how long ago the loop came round last, 0 where it does not run.
func (b *Beat) Age() time.Duration {
	if last := b.last.Load(); last != nil {
		return time.Since(*last)
	}
	return 0
}
