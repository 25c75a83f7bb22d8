package pool

import (
	"fmt"
	"runtime/debug"
	"time"
)

// Trouble is why a group makes no new verdict: deciding panicked. What was decided
// last stays published, and it tries again.
type Trouble struct {
	// Panic is what it panicked with, Stack where, cut.
	Panic, Stack string
	// Failures is how often in a row, Retry when it tries again.
	Failures int
	Retry    time.Time
}

// maxStack bounds a stack.
const maxStack = 4 << 10

// trouble holds passes back after a panic.
type trouble struct {
	failures int
	// until is when the next pass may be made; zero without a panic.
	until time.Time
	// shown is what the outcomes say.
	shown *Trouble
}

// add notes a panic.
func (t *trouble) add(cause any, now time.Time) {
	stack := debug.Stack()
	t.until = now.Add(min(backoffMin<<min(t.failures, 20), backoffMax))
	t.failures++
	t.shown = &Trouble{Panic: fmt.Sprint(cause), Stack: string(stack[:min(len(stack), maxStack)]), Failures: t.failures, Retry: t.until}
}

// handle takes an event in, and decides where it calls for that. A panic concerns
// this group alone: its verdict stays, and what it did not decide on is kept.
func (l *loop) handle(e event) {
	verdict, before, placed := l.verdict, l.intake, l.outcome.Placed
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		now := time.Now()
		if l.verdict == verdict {
			l.intake, l.outcome.Placed = before, placed
			l.intake.put(e.results)
			if e.answer != nil && e.answer.inventory != nil {
				l.join(*e.answer.inventory, now)
			}
		}
		l.trouble.add(cause, now)
		l.beatDue = now.Add(heartbeat)
		defer func() { _ = recover() }() // telling may be what panics
		l.tell(Outcome{})
	}()
	l.absorb(e)
}
