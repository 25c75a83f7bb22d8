package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// LoopOptions say how often to check and how much of it at once. Check and
// Interval are required.
type LoopOptions struct {
	// Check checks one address. It must return when its context ends, and by
	// itself within a bounded time.
	Check func(context.Context, netip.Addr) inventory.Result
	// Interval is the time between the starts of two checks of an address.
	Interval time.Duration
	// FastInterval is the same for urgent addresses, and the least time between
	// the starts of two checks of any address. A tenth of Interval where it is
	// zero, but at least 100 ms, and never more than Interval.
	FastInterval time.Duration
	// Concurrency bounds the checks in flight; 256 where it is zero.
	Concurrency int
	// Gather is how long results wait for others, so that many make one batch,
	// and the least time between two batches. A result that nothing else in
	// flight could follow does not wait. Half of FastInterval where it is zero.
	Gather time.Duration
	// Overlap is after how long a check without an answer is followed by another
	// beside it; never where it is zero.
	Overlap time.Duration
}

// Target is one address to check.
type Target struct {
	Address netip.Addr
	// Urgent says that the state of the address is in question.
	Urgent bool
}

// Stats is what a loop shows of itself.
type Stats struct {
	// Overruns counts the intervals at whose end a check was a whole interval
	// late, or in which a late one was given up.
	Overruns uint64
	// Addresses is the number of addresses watched; InFlight of them are being
	// checked, Waiting are due but wait for one of the others to finish, and
	// Undelivered have a result that was not taken yet.
	Addresses, InFlight, Waiting, Undelivered int
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
// Watch sets the addresses, Ready and Take hand out the results; all methods may
// be called at any time from any goroutine, and only Run blocks.
type Loop struct {
	options LoopOptions
	epoch   time.Time
	// wake tells Run that there may be something to do earlier than planned.
	wake chan struct{}
	// ready tells the consumer that there are results.
	ready chan struct{}

	mu       sync.Mutex
	running  bool
	schedule schedule
}

// NewLoop returns a loop that watches nothing yet.
func NewLoop(options LoopOptions) (*Loop, error) {
	if options.FastInterval == 0 {
		options.FastInterval = max(options.Interval/10, 100*time.Millisecond)
	}
	options.FastInterval = min(options.FastInterval, options.Interval)
	if options.Concurrency == 0 {
		options.Concurrency = 256
	}
	if options.Gather == 0 {
		options.Gather = options.FastInterval / 2
	}
	switch {
	case options.Check == nil:
		return nil, errors.New("probe loop: no check")
	case options.Interval <= 0:
		return nil, fmt.Errorf("probe loop: interval %s is not positive", options.Interval)
	case options.FastInterval <= 0:
		return nil, fmt.Errorf("probe loop: fast interval %s is not positive", options.FastInterval)
	case options.Concurrency < 0:
		return nil, fmt.Errorf("probe loop: concurrency %d is negative", options.Concurrency)
	case options.Gather < 0:
		return nil, fmt.Errorf("probe loop: gather time %s is negative", options.Gather)
	case options.Overlap < 0:
		return nil, fmt.Errorf("probe loop: overlap after %s is negative", options.Overlap)
	}
	return &Loop{
		options:  options,
		epoch:    time.Now(),
		wake:     make(chan struct{}, 1),
		ready:    make(chan struct{}, 1),
		schedule: newSchedule(options),
	}, nil
}

// Run checks until the context ends, waits for the checks in flight and returns
// nil. It returns an error only where the loop is running already.
func (l *Loop) Run(ctx context.Context) error {
	if !l.setRunning(true) {
		return errors.New("probe loop: already running")
	}
	defer l.setRunning(false)
	workers := &workerPool{}
	workers.work = func(c *check, w worker) { l.work(ctx, c, workers, w) }
	defer l.dismiss(workers)
	timer := time.NewTimer(time.Nanosecond)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.wake:
		case <-timer.C:
		}
		timer.Reset(max(l.step(workers), time.Nanosecond))
	}
}

// dismiss waits for the checks in flight.
func (l *Loop) dismiss(workers *workerPool) {
	l.mu.Lock()
	workers.close()
	l.mu.Unlock()
	workers.wait()
}

// setRunning notes whether Run runs, and reports whether that is a change.
func (l *Loop) setRunning(running bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := l.running != running
	l.running = running
	if changed && running {
		l.schedule.startRounds(l.now())
	}
	return changed
}

// step starts the checks that are due and returns when to look again.
func (l *Loop) step(workers *workerPool) (next time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.schedule.collect(now)
	l.schedule.closeRound(now)
	for c := l.schedule.start(now); c != nil; c = l.schedule.start(now) {
		workers.start(c)
	}
	l.offer(now)
	next = l.schedule.idleUntil(now)
	if trim, waiting := workers.trim(now); waiting {
		next = min(next, trim)
	}
	return next - now
}

// work checks one address and notes the result.
func (l *Loop) work(ctx context.Context, c *check, workers *workerPool, w worker) {
	result := l.options.Check(ctx, c.address)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	result.Address = c.address
	l.schedule.finish(c, result, now, ctx.Err() != nil)
	workers.rest(w)
	l.offer(now)
	signal(l.wake)
}

// offer tells the consumer of results that are due.
func (l *Loop) offer(now time.Duration) {
	if l.schedule.offer(now) {
		signal(l.ready)
	}
}

// Watch replaces the set of addresses. It is cheap where little changes and targets
// are sorted. Once it has returned, no check of an address outside the set begins,
// and no result of it is handed out.
func (l *Loop) Watch(targets []Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schedule.watch(targets, l.now())
	signal(l.wake)
}

// Alarm says that something may have happened to an address that is watched: it is
// checked at once, up to that many times until it passes, FastInterval apart, and
// the results do not wait for others. At most half of the slots serve alarms.
func (l *Loop) Alarm(address netip.Addr, times int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schedule.alarm(address, times, l.now())
	signal(l.wake)
}

// Ready returns a channel that yields a value when there are results to Take. It
// may yield one too many.
func (l *Loop) Ready() <-chan struct{} { return l.ready }

// Take returns the results that have come since the last call, in the order in
// which they came. Of an address there is more than one only where checks overlap.
func (l *Loop) Take() []inventory.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	results := l.schedule.deliver(l.now())
	signal(l.wake)
	return results
}

// Stats returns what the loop is doing.
func (l *Loop) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.schedule.stats()
}

// now returns the time since the loop was made, by the monotonic clock.
func (l *Loop) now() time.Duration { return time.Since(l.epoch) }

// signal leaves a token in the channel unless one is there.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
