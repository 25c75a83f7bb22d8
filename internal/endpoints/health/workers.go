package health

import (
	"slices"
	"sync"
	"time"
)

// workerPool is the goroutines that check, at most as many as there are slots. All
// methods but wait are called with the lock of the loop held.
//
// A goroutine is used again, because growing the stack of a new one takes a tenth
// of the time of all checks. The last to have finished is used first. Those that
// were idle for all of spareTime end.
type workerPool struct {
	work    func(c *check, w worker)
	running sync.WaitGroup
	// idle ones wait, the last to have finished last; spare is how many were idle
	// all the time since the last trim.
	idle  []worker
	spare int
	// trimAt is when spare ones end next.
	trimAt time.Duration
	closed bool
}

// spareTime is after how long without work a goroutine ends.
const spareTime = time.Second

// worker is the channel from which a goroutine gets its checks. It holds one, so
// that a send never blocks.
type worker chan *check

// start has a check made.
func (p *workerPool) start(c *check) {
	if last := len(p.idle) - 1; last >= 0 {
		p.idle[last] <- c
		p.idle, p.spare = p.idle[:last], min(p.spare, last)
		return
	}
	w := make(worker, 1)
	w <- c
	p.running.Go(func() {
		for c := range w {
			p.work(c, w)
		}
	})
}

// rest takes a worker back that has finished.
func (p *workerPool) rest(w worker) {
	if p.closed {
		close(w)
		return
	}
	p.idle = append(p.idle, w)
}

// trim ends spare goroutines, and returns when to look again if any is idle.
func (p *workerPool) trim(now time.Duration) (next time.Duration, waiting bool) {
	if now >= p.trimAt {
		p.closeFirst(p.spare)
		p.spare, p.trimAt = len(p.idle), now+spareTime
	}
	return p.trimAt, len(p.idle) > 0
}

// close ends the idle goroutines, and the others when they have finished.
func (p *workerPool) close() {
	p.closed = true
	p.closeFirst(len(p.idle))
}

func (p *workerPool) closeFirst(n int) {
	for _, w := range p.idle[:n] {
		close(w)
	}
	p.idle = slices.Delete(p.idle, 0, n)
}

// wait waits until all have ended.
func (p *workerPool) wait() { p.running.Wait() }
