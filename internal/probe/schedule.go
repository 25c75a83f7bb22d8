package probe

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// entry is one address. Times are durations since the loop was made.
type entry struct {
	address netip.Addr
	urgent  bool
	place   uint32 // its number in phases

	state state
	// due is when its next check should start, or should have: while it waits,
	// runs or has an undelivered result after a first one, it is the one after.
	due time.Duration
	// started is when its last check started; probed says that there was one.
	started time.Duration
	probed  bool
	// slow says that its last check took longer than the fast interval, and
	// counted that the running one counts as slow.
	slow, counted bool
	// gone says that it is no longer watched, and void that the running check
	// began before it was watched anew; either way the result is dropped.
	gone, void bool
	result     inventory.Result

	// queue and index say where it is queued.
	queue *queue
	index int
}

// state is where an entry is in its circle.
type state uint8

const (
	planned     state = iota // in schedule.planned, until it is due
	waiting                  // in schedule.quick or slow, until it gets a slot
	running                  // being checked
	undelivered              // in schedule.results, until they are taken
)

// schedule decides which address is checked when. It does nothing by itself:
// each method is told the time, and the loop acts on what it returns.
type schedule struct {
	interval, fast, gather time.Duration
	concurrency            int

	entries map[netip.Addr]*entry
	phases  phases
	// watched are the targets as of the last call of watch, each once and sorted.
	// An entry that is not among them is gone.
	watched []Target

	planned     queue
	quick, slow waitQueue // those that were not, or were, slow last time

	running, slowRunning int

	results []*entry
	// oldest is when the first of the results came, taken when the last batch
	// was; offered says that the consumer was told.
	oldest, taken time.Duration
	offered       bool

	roundEnd time.Duration
	late     bool
	overruns uint64
}

func newSchedule(options LoopOptions) schedule {
	return schedule{
		interval:    options.Interval,
		fast:        options.FastInterval,
		gather:      options.Gather,
		concurrency: options.Concurrency,
		entries:     make(map[netip.Addr]*entry),
		taken:       -options.Gather,
	}
}

// collect moves the entries that are due to where they wait for a slot. One that
// is late by more than half an interval is left out until its next place: the
// process was stopped or the results were not taken, and all the missed checks at
// once would be a burst.
func (s *schedule) collect(now time.Duration) {
	for e := s.planned.first(); e != nil && e.due <= now; e = s.planned.first() {
		e.leave()
		if e.probed && !e.urgent && now-e.due > s.interval/2 {
			s.late = true
			s.plan(e, s.nextPlace(e, now))
			continue
		}
		e.state = waiting
		s.enqueue(e)
	}
}

// plan queues an entry until it is due.
func (s *schedule) plan(e *entry, due time.Duration) {
	e.state, e.due = planned, due
	s.planned.add(e)
}

// enqueue queues an entry that waits for a slot.
func (s *schedule) enqueue(e *entry) {
	if e.slow {
		s.slow.add(e)
	} else {
		s.quick.add(e)
	}
}

// start returns the next entry to check, as running, or nil.
//
// Entries that were slow last time never get all slots, so that a silent tenth does
// not delay the rest. Nor do they go before others that have waited longer, so that
// with few slots and everything silent each entry gets its turn.
func (s *schedule) start(now time.Duration) *entry {
	if s.running >= s.concurrency {
		return nil
	}
	from, e := &s.quick, s.quick.first()
	slow := s.slow.first()
	if slow != nil && s.slowRunning < max(1, s.concurrency*3/4) && (e == nil || slow.due < e.due) {
		from, e = &s.slow, slow
	}
	if e == nil {
		return nil
	}
	from.remove(e)
	e.state, e.started, e.probed, e.counted = running, now, true, e.slow
	s.running++
	if e.counted {
		s.slowRunning++
	}
	return e
}

// finish notes the end of a check. The result is dropped when the address is no
// longer watched, or was not all the time, or when the loop is stopping.
func (s *schedule) finish(e *entry, result inventory.Result, now time.Duration, stopping bool) {
	s.running--
	if e.counted {
		s.slowRunning--
	}
	e.slow = now-e.started >= s.fast
	switch {
	case e.gone:
		s.forget(e)
		return
	case e.void || stopping:
		e.void, e.slow, e.probed = false, false, false
		s.plan(e, now)
		return
	}
	if now-e.due > s.interval {
		s.late = true
	}
	if len(s.results) == 0 {
		s.oldest = now
	}
	e.state, e.result = undelivered, result
	e.due = s.nextDue(e, now)
	s.results = append(s.results, e)
}

// nextDue returns when an entry that is not running should be checked next.
func (s *schedule) nextDue(e *entry, now time.Duration) time.Duration {
	earliest := max(now, e.started+s.fast)
	switch {
	case !e.probed:
		return now
	case e.urgent:
		return earliest
	}
	return s.nextPlace(e, earliest)
}

// nextPlace returns the first time from then on that is the entry's place in an
// interval.
func (s *schedule) nextPlace(e *entry, from time.Duration) time.Duration {
	wait := (offset(e.place, s.interval) - from) % s.interval
	if wait < 0 {
		wait += s.interval
	}
	return from + wait
}
