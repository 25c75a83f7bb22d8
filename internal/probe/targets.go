package probe

import (
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// watch makes the targets the addresses to check. One that is listed twice is
// urgent if it is so once.
func (s *schedule) watch(targets []Target, now time.Duration) {
	s.round++
	seen := 0
	for _, target := range targets {
		if !target.Address.IsValid() {
			continue
		}
		e := s.entries[target.Address]
		if e == nil {
			e = &entry{address: target.Address, place: s.phases.take()}
			s.entries[target.Address] = e
			s.plan(e, now)
		}
		if e.gone {
			e.gone, e.void = false, true
		}
		urgent := target.Urgent
		if e.seen == s.round {
			urgent = urgent || e.urgent
		} else {
			e.seen = s.round
			seen++
		}
		s.setUrgent(e, urgent, now)
	}
	if seen < len(s.entries) {
		s.dropUnseen()
	}
}

// setUrgent changes the urgency of an entry, and moves its next check at once.
func (s *schedule) setUrgent(e *entry, urgent bool, now time.Duration) {
	if e.urgent == urgent {
		return
	}
	e.leave()
	e.urgent = urgent
	switch e.state {
	case planned:
		s.plan(e, s.nextDue(e, now))
	case waiting:
		s.enqueue(e)
	case undelivered:
		e.due = s.nextDue(e, now)
	case running:
	}
}

// dropUnseen forgets the entries that the last call of watch did not list. One
// that is being checked is forgotten when that ends, so that its address is not
// checked twice at once if it comes back.
func (s *schedule) dropUnseen() {
	dropped := false
	for _, e := range s.entries {
		switch {
		case e.seen == s.round:
		case e.state == running:
			e.gone = true
		default:
			dropped = dropped || e.state == undelivered
			e.leave()
			s.forget(e)
		}
	}
	if dropped {
		s.results = slices.DeleteFunc(s.results, func(e *entry) bool { return e.seen != s.round })
	}
}

// forget removes an entry that is in no queue.
func (s *schedule) forget(e *entry) {
	delete(s.entries, e.address)
	s.phases.giveBack(e.place)
}

// offerAt returns when the results should be offered: a while after the last
// batch was taken, and, unless no further result is about to come, a while after
// the first of them came.
func (s *schedule) offerAt() time.Duration {
	at := s.taken + s.gather
	if s.running > 0 {
		at = max(at, s.oldest+s.gather)
	}
	return at
}

// offer reports whether the consumer should be told of results, once for each
// batch.
func (s *schedule) offer(now time.Duration) bool {
	if len(s.results) == 0 || s.offered || now < s.offerAt() {
		return false
	}
	s.offered = true
	return true
}

// deliver returns the results and plans the next checks of their addresses.
func (s *schedule) deliver(now time.Duration) []inventory.Result {
	s.taken, s.offered = now, false
	if len(s.results) == 0 {
		return nil
	}
	results := make([]inventory.Result, len(s.results))
	for i, e := range s.results {
		results[i] = e.result
		e.result = inventory.Result{}
		s.plan(e, e.due)
	}
	clear(s.results)
	s.results = s.results[:0]
	return results
}

// startRounds begins to count overruns.
func (s *schedule) startRounds(now time.Duration) {
	s.roundEnd, s.late = now+s.interval, false
}

// closeRound counts the interval that ended, if one did, as overrun where a
// check is a whole interval late or was given up. Intervals that passed while
// nobody looked count once.
func (s *schedule) closeRound(now time.Duration) {
	if now < s.roundEnd {
		return
	}
	late := s.late
	for _, e := range s.entries {
		if e.state != planned && !e.gone && now-e.due >= s.interval {
			late = true
			break
		}
	}
	if late {
		s.overruns++
	}
	s.late = false
	s.roundEnd = now + s.interval - (now-s.roundEnd)%s.interval
}

// idleUntil returns when there is something to do again, if nothing happens.
func (s *schedule) idleUntil(now time.Duration) time.Duration {
	next := s.roundEnd
	if e := s.planned.first(); e != nil {
		next = min(next, e.due)
	}
	if len(s.results) > 0 && !s.offered {
		next = min(next, s.offerAt())
	}
	return max(next, now)
}

// stats returns the counts.
func (s *schedule) stats() Stats {
	stats := Stats{
		Overruns:    s.overruns,
		Addresses:   len(s.entries),
		InFlight:    s.running,
		Waiting:     s.quick.len() + s.slow.len(),
		Undelivered: len(s.results),
	}
	for _, e := range s.entries {
		if e.gone {
			stats.Addresses--
		}
	}
	return stats
}
