package health

import (
	"cmp"
	"context"
	"time"
)

// MoveWallClock makes it look to the checker as if the wall clock was moved since
// the start.
func (c *Checker) MoveWallClock(by time.Duration) { c.startWall = c.startWall.Add(-by) }

// NewLoop returns a loop with a hub of its own, and as many slots where that is said.
func NewLoop(options LoopOptions, slots ...int) *Loop {
	hub := NewHub(HubOptions{Concurrency: append(slots, 256)[0]})
	options.FastInterval = cmp.Or(options.FastInterval, options.Interval/10)
	options.Gather = cmp.Or(options.Gather, options.FastInterval/2)
	return hub.Loop(hub.Share(1), options)
}

// Run runs the hub of the loop.
func (l *Loop) Run(ctx context.Context) { l.hub.Run(ctx) }

// Stats is what a loop shows of itself.
type Stats struct {
	// Overruns counts the intervals at whose end a check was a whole interval
	// late, or in which a late one was given up.
	Overruns uint64
	// Addresses is the number of addresses watched; InFlight counts their checks
	// under way, Waiting are due but wait for one of the others to finish, and
	// Undelivered have a result that was not taken yet. Refused would be watched
	// too, but the hub has as many checks as it may have.
	Addresses, InFlight, Waiting, Undelivered, Refused int
}

// Stats returns what the loop is doing.
func (l *Loop) Stats() Stats {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	return l.feed.stats()
}

// stats returns the counts.
func (f *feed) stats() Stats {
	stats := Stats{Overruns: f.overruns, Addresses: len(f.watched), InFlight: f.running, Undelivered: len(f.results), Refused: f.refused}
	for _, e := range f.kind.entries {
		if e.state == waiting && e.alarms == 0 && e.of(f) != nil {
			stats.Waiting++
		}
	}
	return stats
}
