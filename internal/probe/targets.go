package probe

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// watch makes the targets the addresses to check. It looks only at what differs
// from the last call, which mostly is nothing.
func (s *schedule) watch(targets []Target, now time.Duration) {
	if slices.Equal(targets, s.watched) {
		return
	}
	targets = distinct(targets)
	var dropped []netip.Addr
	for before, after := s.watched, targets; len(before) > 0 || len(after) > 0; {
		switch {
		case len(before) > 0 && len(after) > 0 && before[0].Address == after[0].Address:
			if before[0].Urgent != after[0].Urgent {
				s.setUrgent(s.entries[after[0].Address], after[0].Urgent, now)
			}
			before, after = before[1:], after[1:]
		case len(after) == 0 || len(before) > 0 && before[0].Address.Less(after[0].Address):
			dropped, before = append(dropped, before[0].Address), before[1:]
		default:
			s.add(after[0], now)
			after = after[1:]
		}
	}
	s.drop(dropped)
	s.watched = append(s.watched[:0], targets...)
}

// distinct returns the targets sorted, each address once, and without those that
// are none. One that is listed twice is urgent if it is so once.
func distinct(targets []Target) []Target {
	ascending := len(targets) == 0 || targets[0].Address.IsValid()
	for i := 1; i < len(targets) && ascending; i++ {
		ascending = targets[i-1].Address.Less(targets[i].Address)
	}
	if ascending {
		return targets
	}
	urgent := make(map[netip.Addr]bool, len(targets))
	for _, target := range targets {
		if target.Address.IsValid() {
			urgent[target.Address] = urgent[target.Address] || target.Urgent
		}
	}
	all := make([]Target, 0, len(urgent))
	for address, urgent := range urgent {
		all = append(all, Target{Address: address, Urgent: urgent})
	}
	slices.SortFunc(all, func(a, b Target) int { return a.Address.Compare(b.Address) })
	return all
}

// add begins to watch a target. Its address may still be checked for the last
// time it was watched: the result of that says nothing.
func (s *schedule) add(target Target, now time.Duration) {
	e := s.entries[target.Address]
	if e == nil {
		e = &entry{address: target.Address, place: s.phases.take()}
		s.entries[target.Address] = e
		s.plan(e, now)
	}
	if e.gone {
		e.gone = false
		e.life++
	}
	s.setUrgent(e, target.Urgent, now)
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
	case idle:
		e.due = s.nextDue(e, now)
		if urgent && s.overlap > 0 && e.checks > 0 && e.untaken == 0 {
			s.plan(e, e.due)
		}
	}
}

// drop forgets addresses. One that is being checked is forgotten when that ends,
// so that nothing is taken for a result of the address if it comes back.
func (s *schedule) drop(addresses []netip.Addr) {
	results := false
	for _, address := range addresses {
		e := s.entries[address]
		results = results || e.untaken > 0
		e.gone, e.untaken, e.alarms = true, 0, 0
		e.leave()
		e.state = idle
		if e.checks == 0 {
			s.forget(e)
		}
	}
	if results {
		s.results = slices.DeleteFunc(s.results, func(a untakenResult) bool { return a.gone })
	}
}

// forget removes an entry that is in no queue.
func (s *schedule) forget(e *entry) {
	delete(s.entries, e.address)
	s.phases.giveBack(e.place)
}

// offerAt returns when the results should be offered: a while after the last
// batch was taken, and, unless no further result is about to come, a while after
// the first of them came. What answers an alarm does not wait.
func (s *schedule) offerAt() time.Duration {
	if s.hurry {
		return s.oldest
	}
	at := s.taken + s.gather
	if s.running > 0 {
		at = max(at, s.oldest+s.gather)
	}
	return at
}

// offer reports whether to signal results to the consumer, once for each batch.
func (s *schedule) offer(now time.Duration) bool {
	if len(s.results) == 0 || s.offered || now < s.offerAt() {
		return false
	}
	s.offered = true
	return true
}

// deliver returns the results and plans the next checks of their addresses.
func (s *schedule) deliver(now time.Duration) []inventory.Result {
	s.taken, s.offered, s.hurry = now, false, false
	if len(s.results) == 0 {
		return nil
	}
	results := make([]inventory.Result, len(s.results))
	for i, a := range s.results {
		results[i] = a.result
		a.untaken--
		if a.untaken == 0 && a.state == idle && (a.checks == 0 || a.alarms > 0) {
			s.plan(a.entry, a.due)
		}
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
// check is a whole interval late or was given up. Intervals that passed
// without a call count once.
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
	return Stats{
		Overruns:    s.overruns,
		Addresses:   len(s.watched),
		InFlight:    s.running,
		Waiting:     s.quick.len() + s.slow.len(),
		Undelivered: len(s.results),
	}
}
