package health

import (
	"net/netip"
	"slices"
	"time"
)

// entry is one address with one kind of check. Times are durations since the hub
// was made.
type entry struct {
	address netip.Addr
	kind    *kind
	place   uint32 // its number among the places in the interval
	// subscribers want its results; it is gone where there is none. The list is
	// never written again, because checks keep it.
	subscribers []*subscriber
	// share is that of one of them, urgent says that it is so for one of them.
	share  *share
	urgent bool

	state state
	// due is when its next check should start, or should have: while it is idle,
	// the one after what runs or was not taken.
	due time.Duration
	// started is when its last check started; probed says that there was one.
	started time.Duration
	probed  bool
	// checks run.
	checks int
	// slow says that the check that was sent last, of those with a result, took
	// longer than the fast interval, failing that it failed, and answered when it
	// started.
	slow, failing bool
	answered      time.Duration
	// alarms is how many checks at most an alarm still asks for, at alarmed.
	alarms  int
	alarmed time.Duration

	// queue and index say where it is queued.
	queue *queue
	index int
}

// state is where the next check of an entry is.
type state uint8

const (
	planned state = iota // in schedule.planned, until it is due
	waiting              // in alarmed, quick or slow of its share, until it gets a slot
	idle                 // in no queue: it follows the end of a check, or the taking of a result
)

// subscriber is a feed that wants the results of an entry.
type subscriber struct {
	feed   *feed
	urgent bool
	// untaken results have not been taken; served says that one came.
	untaken int
	served  bool
	// gone says that the feed watches the address no longer.
	gone bool
}

// of returns the subscriber of a feed, or nil.
func (e *entry) of(f *feed) *subscriber {
	for _, b := range e.subscribers {
		if b.feed == f {
			return b
		}
	}
	return nil
}

// untaken returns how many results have been taken by none of the feeds.
func (e *entry) untaken() int {
	least := 0
	for i, b := range e.subscribers {
		if i == 0 || b.untaken < least {
			least = b.untaken
		}
	}
	return least
}

// awaited reports whether a feed has had no result yet.
func (e *entry) awaited() bool {
	return slices.ContainsFunc(e.subscribers, func(b *subscriber) bool { return !b.served })
}

// late notes that a check was late, or was given up.
func (e *entry) late() {
	for _, b := range e.subscribers {
		b.feed.late = true
	}
}

// nextDue returns when an entry should be checked next.
func (e *entry) nextDue(now time.Duration) time.Duration {
	earliest := max(now, e.started+e.kind.id.fast)
	if e.checks > 0 {
		earliest = max(now, e.started+e.kind.id.overlap)
	}
	switch {
	case !e.probed, e.checks == 0 && e.alarms > 0 && e.alarmed > e.started:
		return now
	case e.urgent, e.alarms > 0, e.awaited():
		return earliest
	}
	return e.nextPlace(earliest)
}

// nextPlace returns the first time from then on that is the entry's place in an
// interval.
func (e *entry) nextPlace(from time.Duration) time.Duration {
	interval := e.kind.id.interval
	wait := (offset(e.place, interval) - from) % interval
	if wait < 0 {
		wait += interval
	}
	return from + wait
}
