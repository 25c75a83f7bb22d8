package health

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// LoopOptions say how often to check and how much of it at once. Check and
// Interval are required.
type LoopOptions struct {
	// Check checks one address. It must return when its context ends, and by
	// itself within a bounded time.
	Check func(context.Context, netip.Addr) inventory.Result
	// Key is a comparable value that names what Check does: loops of a hub with the
	// same Key and the same times share one check of an address. Where it is nil,
	// the loop shares with no other.
	Key any
	// Interval is the time between the starts of two checks of an address.
	Interval time.Duration
	// FastInterval is the same for urgent addresses, and the least time between
	// the starts of two checks of any address. A tenth of Interval where it is
	// zero, but at least 100 ms, and never more than Interval.
	FastInterval time.Duration
	// Gather is how long results wait for others, so that many make one batch,
	// and the least time between two batches. A result that nothing else in
	// flight could follow does not wait. Half of FastInterval where it is zero.
	Gather time.Duration
	// Overlap is after how long a check without an answer is followed by another
	// beside it; never where it is zero.
	Overlap time.Duration
}

// withDefaults returns the options with what was left empty filled in.
func (o LoopOptions) withDefaults() LoopOptions {
	if o.FastInterval == 0 {
		o.FastInterval = max(o.Interval/10, 100*time.Millisecond)
	}
	o.FastInterval = min(o.FastInterval, o.Interval)
	if o.Gather == 0 {
		o.Gather = o.FastInterval / 2
	}
	return o
}

// validate returns the first mistake in the options.
func (o LoopOptions) validate() error {
	switch {
	case o.Check == nil:
		return errors.New("probe loop: no check")
	case o.Interval <= 0:
		return fmt.Errorf("probe loop: interval %s is not positive", o.Interval)
	case o.FastInterval <= 0:
		return fmt.Errorf("probe loop: fast interval %s is not positive", o.FastInterval)
	case o.Gather < 0:
		return fmt.Errorf("probe loop: gather time %s is negative", o.Gather)
	case o.Overlap < 0:
		return fmt.Errorf("probe loop: overlap after %s is negative", o.Overlap)
	}
	return nil
}

// Address is one address to check.
type Address struct {
	Address netip.Addr
	// Urgent says that the state of the address is in question.
	Urgent bool
}

// Loop checks a set of addresses over and over, each in its own time:
//
//   - A new address is checked at once, then every Interval at a place of its
//     own, so that the checks of all are spread evenly; an urgent one every
//     FastInterval after the start of the last.
//   - A check without an answer after Overlap is followed by another beside it,
//     unless the last one failed as well and the address is not urgent. Otherwise
//     no address is checked twice at the same time, nor again before its last
//     result was taken. What is missed meanwhile is skipped, not caught up.
//   - Where there are fewer slots than due checks, urgent ones go first, but one
//     in four is not; addresses that were slow last time never get all slots.
//
// A check that several loops of a hub want is made once, as soon as one of them
// wants it, and each gets the results of those that began since it watches the
// address.
//
// Watch sets the addresses, Ready and Take hand out the results; all methods may
// be called at any time from any goroutine, and only Run blocks. A nil Loop is that of checks
// that are off: it watches nothing.
type Loop struct {
	hub  *Hub
	feed *feed
}

// Loop returns a loop that watches nothing yet, of a pool with that share of the
// slots. Close ends it.
func (h *Hub) Loop(s Share, options LoopOptions) (*Loop, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return &Loop{h, h.schedule.open(s.share, options, h.now())}, nil
}

// Close ends the loop: nothing is checked for it any more.
func (l *Loop) Close() {
	if l == nil {
		return
	}
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.hub.schedule.close(l.feed, l.hub.now())
	signal(l.hub.wake)
}

// Watch replaces the set of addresses. It is cheap where little changes and targets
// are sorted. Once it has returned, no check of an address outside the set begins,
// and no result of it is handed out.
func (l *Loop) Watch(targets []Address) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.hub.schedule.watch(l.feed, targets, l.hub.now())
	signal(l.hub.wake)
}

// Alarm says that something may have happened to an address that is watched: it is
// checked at once, or when the check that runs has ended or is silent, up to that many
// times until it passes, FastInterval apart, and
// the results do not wait for others. At most half of the slots serve alarms.
func (l *Loop) Alarm(address netip.Addr, times int) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.hub.schedule.alarm(l.feed, address, times, l.hub.now())
	signal(l.hub.wake)
}

// Ready returns a channel that yields a value when there are results to Take. It
// may yield one too many.
func (l *Loop) Ready() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.feed.ready
}

// Take returns the results that have come since the last call, in the order in
// which they came. Of an address there is more than one only where checks overlap,
// or where another loop took the first.
func (l *Loop) Take() []inventory.Result {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	results := l.hub.schedule.deliver(l.feed, l.hub.now())
	signal(l.hub.wake)
	return results
}

// Overruns counts the intervals at whose end a check was a whole interval late, or in which
// a late one was given up.
func (l *Loop) Overruns() uint64 {
	if l == nil {
		return 0
	}
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	return l.feed.overruns
}

// Refused is the number of addresses that are not watched, because the hub has as many
// checks as it may have.
func (l *Loop) Refused() int {
	if l == nil {
		return 0
	}
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	return l.feed.refused
}
