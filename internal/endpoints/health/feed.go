package health

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// feed is what one loop watches, and the results that it has not taken.
type feed struct {
	kind   *kind
	share  *share
	gather time.Duration
	// ready tells the consumer that there are results.
	ready chan struct{}
	// watched are the targets as of the last call of watch, each once and sorted,
	// without the refused ones.
	watched []inventory.Watch
	refused int
	// spare is the list before, to be written again.
	spare []inventory.Watch
	// running are the checks under way that it watches.
	running int

	results []untakenResult
	// oldest is when the first of the results came, taken when the last batch
	// was; offered says that the consumer was told, and hurry that one of them
	// answers an alarm. pending says that it is among those of the schedule.
	oldest, taken           time.Duration
	offered, hurry, pending bool

	roundEnd time.Duration
	late     bool
	overruns uint64
	closed   bool
}

// untakenResult is a result that was not taken yet.
type untakenResult struct {
	*subscriber
	entry  *entry
	result inventory.Result
}

// maxUntaken bounds the results of an address that a feed has not taken. There are
// so many only where another feed takes them.
const maxUntaken = 4

// open returns a feed that watches nothing yet.
func (s *schedule) open(h *share, options LoopOptions, now time.Duration) *feed {
	f := &feed{share: h, gather: options.Gather, ready: make(chan struct{}, 1), taken: -options.Gather, roundEnd: now + options.Interval}
	id := kindID{options.Key, options.Interval, options.FastInterval, options.Overlap}
	if id.key == nil {
		id.key = f
	}
	f.kind = s.kinds[id]
	if f.kind == nil {
		f.kind = &kind{id: id, check: options.Check, entries: make(map[netip.Addr]*entry)}
		s.kinds[id] = f.kind
	}
	f.kind.feeds++
	s.feeds = append(s.feeds, f)
	s.slots.open(h, s.concurrency)
	s.nextRound = min(s.nextRound, f.roundEnd)
	return f
}

// close ends a feed.
func (s *schedule) close(f *feed, now time.Duration) {
	if f.closed {
		return
	}
	s.watch(f, nil, now)
	f.closed = true
	s.feeds = slices.DeleteFunc(s.feeds, func(other *feed) bool { return other == f })
	s.slots.close(f.share, s.concurrency)
	f.kind.feeds--
	if f.kind.feeds == 0 {
		delete(s.kinds, f.kind.id)
	}
}

// hand gives a feed a result.
func (s *schedule) hand(b *subscriber, e *entry, result inventory.Result, now time.Duration) {
	f := b.feed
	if b.untaken >= maxUntaken {
		i := slices.IndexFunc(f.results, func(u untakenResult) bool { return u.subscriber == b })
		f.results = slices.Delete(f.results, i, i+1)
		b.untaken--
	}
	if len(f.results) == 0 {
		f.oldest = now
	}
	f.results = append(f.results, untakenResult{b, e, result})
	b.untaken++
	b.served = true
	if !f.pending && !f.offered {
		f.pending = true
		s.pending = append(s.pending, f)
	}
}

// offerAt returns when the results should be offered: a while after the last
// batch was taken, and, unless no further result is about to come, a while after
// the first of them came. What answers an alarm does not wait.
func (f *feed) offerAt() time.Duration {
	if f.hurry {
		return f.oldest
	}
	at := f.taken + f.gather
	if f.running > 0 {
		at = max(at, f.oldest+f.gather)
	}
	return at
}

// offer tells consumers of results that are due, once for each batch.
func (s *schedule) offer(now time.Duration) {
	s.pending = slices.DeleteFunc(s.pending, func(f *feed) bool {
		if len(f.results) > 0 && now < f.offerAt() {
			return false
		}
		f.pending = false
		if len(f.results) > 0 {
			f.offered = true
			transport.Signal(f.ready)
		}
		return true
	})
}

// deliver returns the results and plans the next checks of their addresses.
func (s *schedule) deliver(f *feed, now time.Duration) []inventory.Result {
	f.taken, f.offered, f.hurry = now, false, false
	if len(f.results) == 0 {
		return nil
	}
	results := make([]inventory.Result, len(f.results))
	for i, u := range f.results {
		results[i] = u.result
		u.untaken--
		if e := u.entry; e.untaken() == 0 && e.state == idle && (e.checks == 0 || e.alarms > 0 && e.kind.id.overlap > 0) {
			s.plan(e, e.due)
		}
	}
	clear(f.results)
	f.results = f.results[:0]
	return results
}

// closeRound counts the interval that ended, if one did, as overrun where a
// check is a whole interval late or was given up. Intervals that passed
// without a call count once.
func (f *feed) closeRound(now time.Duration) {
	if now < f.roundEnd {
		return
	}
	interval := f.kind.id.interval
	for _, e := range f.kind.entries {
		if f.late {
			break
		}
		f.late = e.state != planned && now-e.due >= interval && e.of(f) != nil
	}
	if f.late {
		f.overruns++
	}
	f.late = false
	f.roundEnd = now + interval - (now-f.roundEnd)%interval
}
