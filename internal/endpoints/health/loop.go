package health

import (
	"context"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// LoopOptions say how often to check and how much of it at once. All but Key, Gather and
// Overlap are required.
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
	// the starts of two checks of any address.
	FastInterval time.Duration
	// Gather is how long results wait for others, so that many make one batch,
	// and the least time between two batches. A result that nothing else in
	// flight could follow does not wait.
	Gather time.Duration
	// Overlap is after how long a check without an answer is followed by another
	// beside it; never where it is zero.
	Overlap time.Duration
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
func (h *Hub) Loop(s Share, options LoopOptions) *Loop {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &Loop{h, h.schedule.open(s.share, options, h.now())}
}

// Close ends the loop: nothing is checked for it any more.
func (l *Loop) Close() {
	if l == nil {
		return
	}
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.hub.schedule.close(l.feed, l.hub.now())
	transport.Signal(l.hub.wake)
}

// Watch replaces the set of addresses, which are sorted, each once. It is cheap where little
// changes. Once it has returned, no check of an address outside the set begins,
// and no result of it is handed out.
func (l *Loop) Watch(targets []inventory.Watch) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.hub.schedule.watch(l.feed, targets, l.hub.now())
	transport.Signal(l.hub.wake)
}

// Alarm says that something may have happened to an address that is watched: it is
// checked at once, or when the check that runs has ended or is silent, up to that many
// times until it passes, FastInterval apart, and
// the results do not wait for others. At most half of the slots serve alarms.
func (l *Loop) Alarm(address netip.Addr, times int) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	l.hub.schedule.alarm(l.feed, address, times, l.hub.now())
	transport.Signal(l.hub.wake)
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
	transport.Signal(l.hub.wake)
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

// steps is the number of moments in an interval at which checks start, as a power
// of two: 128, 16 ms apart at an interval of 2 s. To wake up for each check alone costs more
// than the check: a thousand checks every two seconds need half as much CPU when eight of
// them start together.
const steps = 7

// offset returns where in the interval the place of that number is. The places are those of
// the van der Corput sequence, 0, 1/2, 1/4, 3/4, 1/8 and so on, so that the checks of
// addresses that came one after the other are spread evenly, however many they are.
func offset(number uint32, interval time.Duration) time.Duration {
	return interval * time.Duration(bits.Reverse32(number)>>(32-steps)) >> steps
}

// Alarm says that a connection was lost.
type Alarm struct {
	Address netip.Addr
	Kind    AlarmKind
	At      time.Time
}

// batch is the alarms of one moment, on which one decision is made.
type batch struct {
	alarms []Alarm
	// decided is closed when ignored is known.
	decided chan struct{}
	ignored bool
}

// raise tells the holders of a lost connection, and reports whether it was one of so
// many for one of them that they mean nothing. The first of a moment waits for the
// others and decides.
func (u *Connections) raise(g *grip, kind AlarmKind) (ignored bool) {
	u.mu.Lock()
	holders := g.holders
	batches, first := make([]*batch, len(holders)), make([]bool, len(holders))
	for i, h := range holders {
		batches[i], first[i] = h.join(Alarm{Address: g.target.Addr(), Kind: kind, At: time.Now()})
	}
	u.mu.Unlock()
	if slices.Contains(first, true) {
		<-time.After(gathering)
	}
	for i, h := range holders {
		if first[i] {
			h.decide(batches[i])
		}
	}
	for _, b := range batches {
		<-b.decided
		ignored = ignored || b.ignored
	}
	return ignored
}

// join adds an alarm to those of the moment, and reports whether it is the first.
func (h *Holder) join(a Alarm) (b *batch, first bool) {
	h.stats.Alarms[a.Kind]++
	first = h.batch == nil
	if first {
		h.batch = &batch{decided: make(chan struct{})}
	}
	h.batch.alarms = append(h.batch.alarms, a)
	return h.batch, first
}

// decide tells of the alarms of a batch, unless there are too many.
func (h *Holder) decide(b *batch) {
	h.hub.mu.Lock()
	h.batch = nil
	h.recent.add(b.alarms, time.Now().Add(-h.options.Interval))
	lost, left := h.recent.addresses(h.wanted)
	b.ignored = lost > max(1, (len(h.wanted)+left)*h.options.MaxAlarmPercent/100)
	if b.ignored {
		h.stats.Ignored += uint64(len(b.alarms))
	}
	h.hub.mu.Unlock()
	close(b.decided)
	if b.ignored {
		return
	}
	for _, a := range b.alarms {
		h.options.Alarm(a)
	}
}

// recentAlarms are the alarms of the last interval, oldest first.
type recentAlarms []Alarm

// add notes alarms and forgets those before a time.
func (r *recentAlarms) add(alarms []Alarm, since time.Time) {
	for len(*r) > 0 && (*r)[0].At.Before(since) {
		*r = (*r)[1:]
	}
	*r = append(*r, alarms...)
}

// addresses returns of how many addresses they are, and how many of those are no
// longer wanted: an endpoint that was taken down since was held in that interval.
func (r recentAlarms) addresses(wanted []netip.Addr) (lost, left int) {
	distinct := make(map[netip.Addr]bool, len(r))
	for _, a := range r {
		if !distinct[a.Address] {
			distinct[a.Address] = true
			if _, ok := slices.BinarySearchFunc(wanted, a.Address, netip.Addr.Compare); !ok {
				left++
			}
		}
	}
	return len(distinct), left
}
