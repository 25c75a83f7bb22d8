package writer

import (
	"slices"
	"time"
)

// Turn says how urgent the next write is, and whether it tries again what failed.
type Turn struct {
	Rank  Rank
	Retry bool
}

// Next returns the turn of the most urgent write that waits for nothing but a lane,
// and false if there is none. What is tried again comes last. A write that makes
// something ready is as urgent as the loss that waits for it.
func (o *Outbox) Next(now time.Time) (next Turn, found bool) {
	for _, e := range o.waiting {
		if !o.sendable(e, now) {
			continue
		}
		turn := Turn{e.rank, o.Retries(e.Slice.Name)}
		if e.rank == Gain && o.lossWaits(now) {
			turn.Rank = Loss
		}
		if !turn.Retry {
			return turn, true
		}
		if !found {
			next, found = turn, true
		}
	}
	return next, found
}

// Waits reports whether a write waits for nothing but a lane.
func (o *Outbox) Waits(now time.Time) bool {
	_, found := o.Next(now)
	return found && o.server.takes(max(o.underway(), o.server.Underway), now)
}

// lossWaits reports whether a loss waits until something is ready.
func (o *Outbox) lossWaits(now time.Time) bool {
	return slices.ContainsFunc(o.waiting, func(e entry) bool {
		return e.rank == Loss && !o.due(e, now).After(now) && o.wouldEmpty(e.Write)
	})
}

// Settled reports whether no failure of a slice is remembered.
func (o *Outbox) Settled() bool {
	for _, r := range o.records {
		if r.failures > 0 {
			return false
		}
	}
	return true
}

// Retries reports whether the last write of the slice of that name failed.
func (o *Outbox) Retries(name string) bool {
	r := o.records[name]
	return r != nil && r.failing()
}
