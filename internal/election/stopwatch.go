package election

import "time"

// stopwatch measures how long ago something was. It knows no wall clock, which
// anybody may set. Go's own clock stands still while the machine is suspended,
// and what the Lease is worth does not; so of the two clocks that count from the
// start of the machine the longer time is taken.
type stopwatch struct {
	at   time.Time
	boot time.Duration
}

// begin starts one.
func begin() stopwatch { return stopwatch{at: time.Now(), boot: sinceBoot()} }

// running reports whether it was ever started.
func (s stopwatch) running() bool { return !s.at.IsZero() }

func (s stopwatch) elapsed() time.Duration { return max(time.Since(s.at), sinceBoot()-s.boot) }
