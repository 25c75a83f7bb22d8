package health

import "slices"

// slots shares out what may be in flight.
//
//	one pool       all of it
//	several pools  half of it by weight, to each its own; the rest to whoever
//	               needs more, in turn by weight
//
// So a pool that is silent as a whole never takes the slots of another.
type slots struct {
	shares []*share
	common account
	// turn is which share is asked first, passed the position of the last share
	// that got a common slot.
	turn   int
	passed float64
}

// account is a number of slots, and what is taken of them.
type account struct{ slots, running, slow, alarms int }

// share is the part of one pool.
type share struct {
	weight int
	// feeds are open, entries are charged to it.
	feeds, entries int
	own            account
	// position moves on by 1/weight with each common slot; the share that is
	// furthest behind is next.
	position float64

	alarmed     queue
	quick, slow waitQueue // those that were not, or were, slow last time
}

// enqueue queues an entry that waits for a slot.
func (h *share) enqueue(e *entry) {
	switch {
	case e.alarms > 0:
		h.alarmed.add(e)
	case e.slow || e.checks > 0:
		h.slow.add(e)
	default:
		h.quick.add(e)
	}
}

// open counts a feed of a share.
func (s *slots) open(h *share, concurrency int) {
	h.feeds++
	if h.feeds == 1 {
		h.position = max(h.position, s.passed)
		s.shares = append(s.shares, h)
		s.divide(concurrency)
	}
}

// close counts a feed of a share no more.
func (s *slots) close(h *share, concurrency int) {
	h.feeds--
	if h.feeds == 0 {
		s.shares = slices.DeleteFunc(s.shares, func(other *share) bool { return other == h })
		s.divide(concurrency)
	}
}

// divide gives each share its own slots.
func (s *slots) divide(concurrency int) {
	total := 0
	for _, h := range s.shares {
		total += h.weight
	}
	s.common.slots = concurrency
	for _, h := range s.shares {
		h.own.slots = concurrency
		if len(s.shares) > 1 {
			h.own.slots = max(1, concurrency*h.weight/(2*total))
		}
		s.common.slots -= h.own.slots
	}
}

// next returns the next check to make, with its slot, or nil.
func (s *slots) next() *check {
	for i := range s.shares {
		h := s.shares[(s.turn+i)%len(s.shares)]
		if from, e := h.pick(&h.own); e != nil {
			s.turn++
			return h.take(&h.own, from, e)
		}
	}
	if s.common.running >= s.common.slots {
		return nil
	}
	var behind *share
	for _, h := range s.shares {
		if behind != nil && max(h.position, s.passed) >= max(behind.position, s.passed) {
			continue
		}
		if _, e := h.pick(&s.common); e != nil {
			behind = h
		}
	}
	if behind == nil {
		return nil
	}
	s.passed = max(behind.position, s.passed)
	behind.position = s.passed + 1/float64(behind.weight)
	from, e := behind.pick(&s.common)
	return behind.take(&s.common, from, e)
}

// pick returns the entry that is next where a slot of the account is free for it,
// and the queue it waits in: none if an alarm asks for it.
//
// What an alarm asks for goes first, but never takes more than half of the slots.
//
// Entries that were slow last time never get all slots, so that a silent tenth does
// not delay the rest. Nor do they go before others that have waited longer, so that
// with few slots and everything silent each entry gets its turn.
func (h *share) pick(a *account) (from *waitQueue, e *entry) {
	if a.running >= a.slots {
		return nil, nil
	}
	if e := h.alarmed.first(); e != nil && a.alarms < max(1, a.slots/2) {
		return nil, e
	}
	from, e = &h.quick, h.quick.first()
	slow := h.slow.first()
	if slow != nil && a.slow < max(1, a.slots*3/4) && (e == nil || slow.due < e.due) {
		from, e = &h.slow, slow
	}
	return from, e
}

// take takes an entry out of its queue, and a slot of the account.
func (h *share) take(a *account, from *waitQueue, e *entry) *check {
	c := &check{entry: e, account: a, slowSlot: from == &h.slow, alarmSlot: from == nil}
	if from == nil {
		e.leave()
		a.alarms++
	} else {
		from.remove(e)
	}
	if c.slowSlot {
		a.slow++
	}
	a.running++
	return c
}

// release gives the slot of a check back.
func (a *account) release(c *check) {
	a.running--
	if c.slowSlot {
		a.slow--
	}
	if c.alarmSlot {
		a.alarms--
	}
}
