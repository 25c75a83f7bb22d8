package health

import (
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// watch makes the targets the addresses to check for a feed. It looks only at what
// differs from the last call, which mostly is nothing.
func (s *schedule) watch(f *feed, targets []inventory.Watch, now time.Duration) {
	if f.closed || slices.Equal(targets, f.watched) {
		f.refused = 0
		return
	}
	watched := f.spare[:0]
	var dropped, added []inventory.Watch
	for before, after := f.watched, targets; len(before) > 0 || len(after) > 0; {
		switch {
		case len(before) > 0 && len(after) > 0 && before[0].Address == after[0].Address:
			if before[0].Urgent != after[0].Urgent {
				e := f.kind.entries[after[0].Address]
				e.of(f).urgent = after[0].Urgent
				s.setUrgent(e, now)
			}
			watched = append(watched, after[0])
			before, after = before[1:], after[1:]
		case len(after) == 0 || len(before) > 0 && before[0].Address.Less(after[0].Address):
			dropped, before = append(dropped, before[0]), before[1:]
		default:
			added, after = append(added, after[0]), after[1:]
		}
	}
	s.drop(f, dropped, now)
	f.refused = 0
	for _, target := range added {
		if s.add(f, target, now) {
			watched = append(watched, target)
		} else {
			f.refused++
		}
	}
	if len(added) > 0 {
		slices.SortFunc(watched, func(a, b inventory.Watch) int { return a.Address.Compare(b.Address) })
	}
	f.watched, f.spare = watched, f.watched
}

// add begins to watch a target, and reports whether there was room for it. Its
// address may still be checked for the last time it was watched: the result of that
// says nothing.
func (s *schedule) add(f *feed, target inventory.Watch, now time.Duration) bool {
	e := f.kind.entries[target.Address]
	if e == nil {
		if s.maxChecks > 0 && s.entries >= s.maxChecks && f.share.entries >= s.maxChecks/len(s.shares) {
			return false
		}
		interval := f.kind.id.interval
		e = &entry{address: target.Address, kind: f.kind, place: s.places[interval]}
		s.places[interval]++
		f.kind.entries[target.Address] = e
		s.entries++
		s.plan(e, now)
	}
	shared := len(e.subscribers) > 0
	e.subscribers = append(slices.Clip(slices.Clone(e.subscribers)), &subscriber{feed: f, urgent: target.Urgent})
	e.charge()
	s.setUrgent(e, now)
	if shared {
		s.advance(e, now)
	}
	return true
}

// advance has an entry checked soon that one more feed waits for.
func (s *schedule) advance(e *entry, now time.Duration) {
	switch {
	case e.state == planned:
		e.leave()
		s.plan(e, e.nextDue(now))
	case e.state == idle && e.checks == 0:
		s.plan(e, e.nextDue(now))
	}
}

// charge makes the share of the subscribers that has the fewest entries the one
// whose slots the entry takes.
func (e *entry) charge() {
	var least *share
	for _, b := range e.subscribers {
		h := b.feed.share
		if least == nil || h != least && h.load(e) < least.load(e) {
			least = h
		}
	}
	if least == e.share {
		return
	}
	queued := e.state == waiting
	if queued {
		e.leave()
	}
	if e.share != nil {
		e.share.entries--
	}
	if e.share = least; least == nil {
		return
	}
	least.entries++
	if queued {
		least.enqueue(e)
	}
}

// load returns how many entries the share has with this one.
func (h *share) load(e *entry) int {
	if e.share == h {
		return h.entries
	}
	return h.entries + 1
}

// setUrgent finds out whether an entry is urgent, and moves its next check at once
// where that has changed.
func (s *schedule) setUrgent(e *entry, now time.Duration) {
	urgent := slices.ContainsFunc(e.subscribers, func(b *subscriber) bool { return b.urgent })
	if e.urgent == urgent {
		return
	}
	e.leave()
	e.urgent = urgent
	switch e.state {
	case planned:
		s.plan(e, e.nextDue(now))
	case waiting:
		e.share.enqueue(e)
	case idle:
		e.due = e.nextDue(now)
		if urgent && e.kind.id.overlap > 0 && e.checks > 0 && e.untaken() == 0 {
			s.plan(e, e.due)
		}
	}
}

// drop forgets targets of a feed. An address that is being checked is forgotten
// when that ends, so that nothing is taken for a result of the address if it comes
// back.
func (s *schedule) drop(f *feed, targets []inventory.Watch, now time.Duration) {
	results := false
	for _, target := range targets {
		e := f.kind.entries[target.Address]
		b := e.of(f)
		results = results || b.untaken > 0
		b.gone = true
		e.subscribers = slices.DeleteFunc(slices.Clone(e.subscribers), func(other *subscriber) bool { return other == b })
		if len(e.subscribers) > 0 {
			e.charge()
			s.setUrgent(e, now)
			continue
		}
		e.leave()
		e.charge()
		e.alarms, e.urgent, e.state = 0, false, idle
		if e.checks == 0 {
			s.forget(e)
		}
	}
	if results {
		f.results = slices.DeleteFunc(f.results, func(u untakenResult) bool { return u.gone })
	}
}

// forget removes an entry that is in no queue.
func (s *schedule) forget(e *entry) {
	delete(e.kind.entries, e.address)
	s.entries--
}
