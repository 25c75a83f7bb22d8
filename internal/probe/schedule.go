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
	// due is when its next check should start, or should have: while it is idle,
	// the one after what runs or was not taken.
	due time.Duration
	// started is when its last check started; probed says that there was one.
	started time.Duration
	probed  bool
	// checks run, and untaken results have not been taken.
	checks, untaken int
	// slow says that the check that was sent last, of those with a result, took
	// longer than the fast interval, failing that it failed, and answered when it
	// started.
	slow, failing bool
	answered      time.Duration
	// alarms is how many checks at most an alarm still asks for, at alarmed.
	alarms  int
	alarmed time.Duration
	// gone says that it is no longer watched. Results of checks that began in an
	// earlier life, before it was watched anew, are dropped.
	gone bool
	life uint

	// queue and index say where it is queued.
	queue *queue
	index int
}

// state is where the next check of an entry is.
type state uint8

const (
	planned state = iota // in schedule.planned, until it is due
	waiting              // in schedule.alarmed, quick or slow, until it gets a slot
	idle                 // in no queue: it follows the end of a check, or the taking of a result
)

// check is one that runs.
type check struct {
	*entry
	life uint
	// due is when it should have started.
	due, started time.Duration
	// slowSlot and alarmSlot say which share of the slots it takes.
	slowSlot, alarmSlot bool
}

// schedule decides which address is checked when. It does nothing by itself:
// each method is told the time, and the loop acts on what it returns.
type schedule struct {
	interval, fast, gather, overlap time.Duration
	concurrency                     int

	entries map[netip.Addr]*entry
	phases  phases
	// watched are the targets as of the last call of watch, each once and sorted.
	// An entry that is not among them is gone.
	watched []Target

	planned, alarmed queue
	quick, slow      waitQueue // those that were not, or were, slow last time

	running, slowRunning, alarmRunning int

	results []untakenResult
	// oldest is when the first of the results came, taken when the last batch
	// was; offered says that the consumer was told, and hurry that one of them
	// answers an alarm.
	oldest, taken  time.Duration
	offered, hurry bool

	roundEnd time.Duration
	late     bool
	overruns uint64
}

// untakenResult is a result that was not taken yet.
type untakenResult struct {
	*entry
	result inventory.Result
}

func newSchedule(options LoopOptions) schedule {
	return schedule{
		interval:    options.Interval,
		fast:        options.FastInterval,
		gather:      options.Gather,
		overlap:     options.Overlap,
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
		switch {
		case e.untaken > min(e.checks, 1):
			e.state = idle
		case e.probed && !e.urgent && now-e.due > s.interval/2:
			s.late = true
			s.plan(e, s.nextPlace(e, now))
		default:
			e.state = waiting
			s.enqueue(e)
		}
	}
}

// plan queues an entry until it is due.
func (s *schedule) plan(e *entry, due time.Duration) {
	e.state, e.due = planned, due
	s.planned.add(e)
}

// enqueue queues an entry that waits for a slot.
func (s *schedule) enqueue(e *entry) {
	switch {
	case e.alarms > 0:
		s.alarmed.add(e)
	case e.slow || e.checks > 0:
		s.slow.add(e)
	default:
		s.quick.add(e)
	}
}

// start returns the next check to make, as running, or nil.
//
// What an alarm asks for goes first, but never takes more than half of the slots.
//
// Entries that were slow last time never get all slots, so that a silent tenth does
// not delay the rest. Nor do they go before others that have waited longer, so that
// with few slots and everything silent each entry gets its turn.
func (s *schedule) start(now time.Duration) *check {
	if s.running >= s.concurrency {
		return nil
	}
	if e := s.alarmed.first(); e != nil && s.alarmRunning < max(1, s.concurrency/2) {
		e.leave()
		s.alarmRunning++
		return s.begin(&check{entry: e, alarmSlot: true}, now)
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
	c := &check{entry: e, slowSlot: from == &s.slow}
	if c.slowSlot {
		s.slowRunning++
	}
	return s.begin(c, now)
}

// begin makes a check run. Another one follows beside it where it has no answer
// after a while, unless silence of that address is no news.
func (s *schedule) begin(c *check, now time.Duration) *check {
	c.life, c.due, c.started = c.entry.life, c.entry.due, now
	c.entry.started, c.probed = now, true
	c.checks++
	s.running++
	c.state = idle
	if s.overlap > 0 && (c.urgent || c.alarms > 0 || !c.failing) {
		s.plan(c.entry, now+s.overlap)
	}
	return c
}

// finish notes the end of a check. The result is dropped when the address is no
// longer watched, or was not all the time, or when the loop is stopping.
func (s *schedule) finish(c *check, result inventory.Result, now time.Duration, stopping bool) {
	e := c.entry
	e.checks--
	s.running--
	if c.slowSlot {
		s.slowRunning--
	}
	if c.alarmSlot {
		s.alarmRunning--
	}
	switch {
	case e.gone:
		if e.checks == 0 {
			s.forget(e)
		}
		return
	case c.life != e.life || stopping:
		if e.checks == 0 && e.untaken == 0 {
			e.leave()
			e.slow, e.failing, e.probed = false, false, false
			s.plan(e, now)
		}
		return
	}
	if now-c.due > s.interval {
		s.late = true
	}
	if len(s.results) == 0 {
		s.oldest = now
	}
	s.results = append(s.results, untakenResult{e, result})
	e.untaken++
	s.learn(c, result, now)
}

// learn plans what follows the result of a check.
func (s *schedule) learn(c *check, result inventory.Result, now time.Duration) {
	e, passed := c.entry, result.Outcome == inventory.Pass
	if c.started >= e.answered {
		e.answered, e.slow = c.started, now-c.started >= s.fast
		e.failing = !passed && (e.failing || result.Outcome != inventory.LocalError)
	}
	if e.alarms > 0 && c.started >= e.alarmed {
		s.hurry = true
		e.alarms--
		if passed {
			e.alarms = 0
		}
	}
	if e.state != idle && e.checks > 0 && !passed {
		return // the next one follows the one that runs
	}
	e.leave()
	e.state, e.due = idle, s.nextDue(e, now)
}

// alarm has an address checked at once, and up to that many times until it passes.
func (s *schedule) alarm(address netip.Addr, times int, now time.Duration) {
	e := s.entries[address]
	if e == nil || e.gone {
		return
	}
	e.alarms, e.alarmed = times, now
	e.leave()
	e.state, e.due = idle, now
	if e.untaken == 0 {
		s.plan(e, now)
	}
}

// nextDue returns when an entry should be checked next.
func (s *schedule) nextDue(e *entry, now time.Duration) time.Duration {
	earliest := max(now, e.started+s.fast)
	if e.checks > 0 {
		earliest = max(now, e.started+s.overlap)
	}
	switch {
	case !e.probed:
		return now
	case e.urgent, e.alarms > 0:
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
