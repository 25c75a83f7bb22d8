package election

import "time"

// stopwatch measures how long ago something was, without the wall clock, which can
// be set. Go's clock stops while the machine is suspended, but the Lease expires
// meanwhile; so the longer time of Go's clock and of that since boot counts.
type stopwatch struct {
	at   time.Time
	boot time.Duration
}

// begin starts one.
func begin() stopwatch { return stopwatch{at: time.Now(), boot: sinceBoot()} }

// running reports whether it was ever started.
func (s stopwatch) running() bool { return !s.at.IsZero() }

func (s stopwatch) elapsed() time.Duration { return max(time.Since(s.at), sinceBoot()-s.boot) }
