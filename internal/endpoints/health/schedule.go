package health

import (
	"context"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// kind is one check with its times, of whatever address.
type kind struct {
	id      kindID
	check   func(context.Context, netip.Addr) inventory.Result
	entries map[netip.Addr]*entry
	feeds   int
}

// kindID tells kinds apart.
type kindID struct {
	key                     any
	interval, fast, overlap time.Duration
}

// check is one that runs.
type check struct {
	*entry
	// subscribers are those of the entry when it began.
	subscribers []*subscriber
	// due is when it should have started.
	due, started time.Duration
	// account is where its slot is from, slowSlot and alarmSlot say which part of
	// that it takes.
	account             *account
	slowSlot, alarmSlot bool
}

// schedule decides which address is checked when. It does nothing by itself:
// each method is told the time, and the hub acts on what it returns.
type schedule struct {
	concurrency, maxChecks int

	kinds map[kindID]*kind
	// places counts those that were given out, by interval.
	places  map[time.Duration]uint32
	entries int
	planned queue

	slots
	running int

	feeds []*feed
	// pending are the feeds with results of which the consumer was not told.
	pending []*feed
	// nextRound is when the first round of a feed ends.
	nextRound time.Duration
}

func newSchedule(options HubOptions) schedule {
	return schedule{
		concurrency: options.Concurrency, maxChecks: options.MaxChecks,
		kinds: make(map[kindID]*kind), places: make(map[time.Duration]uint32),
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
		case e.untaken() > min(e.checks, 1):
			e.state = idle
		case e.probed && !e.urgent && now-e.due > e.kind.id.interval/2:
			e.late()
			s.plan(e, e.nextPlace(now))
		default:
			e.state = waiting
			e.share.enqueue(e)
		}
	}
}

// plan queues an entry until it is due.
func (s *schedule) plan(e *entry, due time.Duration) {
	e.state, e.due = planned, due
	s.planned.add(e)
}

// start returns the next check to make, as running, or nil.
func (s *schedule) start(now time.Duration) *check {
	if s.running >= s.concurrency {
		return nil
	}
	c := s.next()
	if c == nil {
		return nil
	}
	return s.begin(c, now)
}

// begin makes a check run. Another one follows beside it where it has no answer
// after a while, unless silence of that address is no news.
func (s *schedule) begin(c *check, now time.Duration) *check {
	e := c.entry
	c.subscribers, c.due, c.started = e.subscribers, e.due, now
	e.started, e.probed = now, true
	e.checks++
	s.running++
	for _, b := range c.subscribers {
		b.feed.running++
	}
	e.state = idle
	if e.kind.id.overlap > 0 && (e.urgent || e.alarms > 0 || !e.failing) {
		s.plan(e, now+e.kind.id.overlap)
	}
	return c
}

// finish notes the end of a check. The result is dropped where it is no longer
// watched for, or was not all the time, or when the hub is stopping.
func (s *schedule) finish(c *check, result inventory.Result, now time.Duration, stopping bool) {
	e, wanted := c.entry, false
	e.checks--
	s.running--
	c.account.release(c)
	for _, b := range c.subscribers {
		b.feed.running--
		wanted = wanted || !b.gone
	}
	switch {
	case len(e.subscribers) == 0:
		if e.checks == 0 {
			s.forget(e)
		}
		return
	case !wanted || stopping:
		if e.checks == 0 && e.untaken() == 0 {
			e.leave()
			e.slow, e.failing, e.probed = false, false, false
			s.plan(e, now)
		}
		return
	}
	if now-c.due > e.kind.id.interval {
		e.late()
	}
	for _, b := range c.subscribers {
		if !b.gone {
			s.hand(b, e, result, now)
		}
	}
	s.learn(c, result, now)
}

// learn takes the result of a check in, and plans the next check of its address.
func (s *schedule) learn(c *check, result inventory.Result, now time.Duration) {
	e, passed := c.entry, result.Outcome == inventory.Pass
	e.judge(c, result, now)
	e.answerAlarm(c, passed)
	if e.state != idle && e.checks > 0 && !passed {
		return // the next one follows the one that runs
	}
	e.leave()
	e.state, e.due = idle, e.nextDue(now)
	if e.checks == 0 && e.untaken() == 0 {
		s.plan(e, e.due) // for one that came meanwhile
	}
}

// judge notes whether the address is slow or fails, unless a later check has said so.
func (e *entry) judge(c *check, result inventory.Result, now time.Duration) {
	if c.started < e.answered {
		return
	}
	e.answered, e.slow = c.started, now-c.started >= e.kind.id.fast
	e.failing = result.Outcome != inventory.Pass && (e.failing || result.Outcome != inventory.LocalError)
}

// answerAlarm counts a check that an alarm asked for; a pass answers the alarm.
func (e *entry) answerAlarm(c *check, passed bool) {
	if e.alarms == 0 || c.started < e.alarmed {
		return
	}
	for _, b := range c.subscribers {
		b.feed.hurry = true
	}
	if e.alarms--; passed {
		e.alarms = 0
	}
}

// alarm has an address checked at once, and up to that many times until it passes. While
// a check runs, the next one follows its end, or is beside it once it has no answer.
func (s *schedule) alarm(f *feed, address netip.Addr, times int, now time.Duration) {
	e := f.kind.entries[address]
	if e == nil || e.of(f) == nil {
		return
	}
	e.alarms, e.alarmed = times, now
	e.leave()
	e.state, e.due = idle, now
	switch {
	case e.checks > 0 && e.kind.id.overlap > 0:
		s.plan(e, max(now, e.started+e.kind.id.overlap))
	case e.checks == 0 && e.untaken() == 0:
		s.plan(e, now)
	}
}

// startRounds begins to count overruns.
func (s *schedule) startRounds(now time.Duration) {
	for _, f := range s.feeds {
		f.roundEnd, f.late = now+f.kind.id.interval, false
	}
	s.nextRound = now
}

// closeRounds counts the intervals that ended; see feed.closeRound.
func (s *schedule) closeRounds(now time.Duration) {
	if now < s.nextRound {
		return
	}
	s.nextRound = now + time.Hour
	for _, f := range s.feeds {
		f.closeRound(now)
		s.nextRound = min(s.nextRound, f.roundEnd)
	}
}

// idleUntil returns when there is something to do again, if nothing happens.
func (s *schedule) idleUntil(now time.Duration) time.Duration {
	next := s.nextRound
	if e := s.planned.first(); e != nil {
		next = min(next, e.due)
	}
	for _, f := range s.pending {
		next = min(next, f.offerAt())
	}
	return max(next, now)
}
