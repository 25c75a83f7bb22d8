package probe

import (
	"slices"
	"sync"
	"time"
)

// crew is the goroutines that check, at most as many as there are slots. Its
// methods but wait are called with the lock of the loop held.
//
// A goroutine stays for the next check, because a check needs a stack that a new
// goroutine has to grow first, which takes a tenth of the time of all checks. The
// last to have finished is the first to be used, so that those that only a burst
// needed are known by having waited for the whole of a while, and go.
type crew struct {
	work    func(c *check, w worker)
	running sync.WaitGroup
	// idle are those that wait, the last to have finished last, and spare is
	// how many of them have done so since the last trim.
	idle  []worker
	spare int
	// trimAt is when those that were not needed go.
	trimAt time.Duration
	closed bool
}

// spareTime is how long a goroutine waits in vain before it goes.
const spareTime = time.Second

// worker is where one of them waits for a check to make. It holds one, so that
// handing it over never waits.
type worker chan *check

// start has a check made.
func (c *crew) start(k *check) {
	if last := len(c.idle) - 1; last >= 0 {
		c.idle[last] <- k
		c.idle, c.spare = c.idle[:last], min(c.spare, last)
		return
	}
	w := make(worker, 1)
	w <- k
	c.running.Go(func() {
		for k := range w {
			c.work(k, w)
		}
	})
}

// rest takes a worker back that has finished.
func (c *crew) rest(w worker) {
	if c.closed {
		close(w)
		return
	}
	c.idle = append(c.idle, w)
}

// trim lets those go that were not needed for a while, and returns when to look
// again if anybody waits.
func (c *crew) trim(now time.Duration) (next time.Duration, waiting bool) {
	if now >= c.trimAt {
		c.dismissFirst(c.spare)
		c.spare, c.trimAt = len(c.idle), now+spareTime
	}
	return c.trimAt, len(c.idle) > 0
}

// dismiss lets those that wait go, and the others when they have finished.
func (c *crew) dismiss() {
	c.closed = true
	c.dismissFirst(len(c.idle))
}

func (c *crew) dismissFirst(n int) {
	for _, w := range c.idle[:n] {
		close(w)
	}
	c.idle = slices.Delete(c.idle, 0, n)
}

// wait waits until all are gone.
func (c *crew) wait() { c.running.Wait() }
