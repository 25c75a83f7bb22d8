package health

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// HubOptions bound what a hub does.
type HubOptions struct {
	// Concurrency bounds the checks in flight.
	Concurrency int
	// MaxChecks bounds the distinct checks, each of one address; no bound where it is
	// zero. Addresses beyond are not checked, and Stats counts them. A pool that has less than its
	// part gets that, however many others have, so there are twice as many at most.
	MaxChecks int
}

// Hub makes the checks of many loops, each distinct one once, with one set of slots.
//
// Each pool has slots of its own, half of all by weight, which nothing that another
// pool does can take. The other half goes round, by weight as well, among the
// pools that need more.
type Hub struct {
	epoch time.Time
	// wake tells Run that there may be something to do earlier than planned.
	wake chan struct{}

	mu       sync.Mutex
	schedule schedule
}

// NewHub returns a hub that checks nothing yet.
func NewHub(options HubOptions) *Hub {
	return &Hub{epoch: time.Now(), wake: make(chan struct{}, 1), schedule: newSchedule(options)}
}

// Share is what a pool has of the slots.
type Share struct{ share *share }

// Share returns a share of the slots for the loops of one pool. It counts while
// one of its loops is open.
func (h *Hub) Share(weight int) Share { return Share{&share{weight: max(1, weight)}} }

// Run checks until the context ends, and waits for the checks in flight. It may run once.
func (h *Hub) Run(ctx context.Context) {
	h.mu.Lock()
	h.schedule.startRounds(h.now())
	h.mu.Unlock()
	workers := &workerPool{}
	workers.work = func(c *check, w worker) { h.work(ctx, c, workers, w) }
	defer h.dismiss(workers)
	timer := time.NewTimer(time.Nanosecond)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-timer.C:
		}
		timer.Reset(max(h.step(workers), time.Nanosecond))
	}
}

// dismiss waits for the checks in flight.
func (h *Hub) dismiss(workers *workerPool) {
	h.mu.Lock()
	workers.close()
	h.mu.Unlock()
	workers.wait()
}

// step starts the checks that are due and returns when to look again.
func (h *Hub) step(workers *workerPool) (next time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	h.schedule.collect(now)
	h.schedule.closeRounds(now)
	for c := h.schedule.start(now); c != nil; c = h.schedule.start(now) {
		workers.start(c)
	}
	h.schedule.offer(now)
	next = h.schedule.idleUntil(now)
	if trim, waiting := workers.trim(now); waiting {
		next = min(next, trim)
	}
	return next - now
}

// work checks one address and notes the result.
func (h *Hub) work(ctx context.Context, c *check, workers *workerPool, w worker) {
	result := carefully(ctx, c.kind.check, c.address)
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	result.Address = c.address
	h.schedule.finish(c, result, now, ctx.Err() != nil)
	workers.rest(w)
	h.schedule.offer(now)
	transport.Signal(h.wake)
}

// carefully makes a check. A panic of one stops no other, and says nothing of the
// address.
func carefully(ctx context.Context, check func(context.Context, netip.Addr) inventory.Result, address netip.Addr) (result inventory.Result) {
	sent := time.Now()
	defer func() {
		if p := recover(); p != nil {
			result = inventory.Result{At: sent, Outcome: inventory.LocalError, Message: clean(fmt.Sprint("the check panicked: ", p))}
		}
	}()
	return check(ctx, address)
}

// now returns the time since the hub was made, by the monotonic clock.
func (h *Hub) now() time.Duration { return time.Since(h.epoch) }
