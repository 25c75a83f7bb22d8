package writer

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"time"
)

const (
	// defectMin and defectMax bound the wait before a target is tried again that a
	// panic has stopped.
	defectMin = time.Second
	defectMax = 5 * time.Minute
	// traceBytes is how much of the stack is told.
	traceBytes = 2 << 10
)

// Defect is a panic while one target was handled: a defect of the program. The
// slices of the target stay as they are until it is tried again.
type Defect struct {
	// Value is what the program panicked with, Stack where, cut.
	Value, Stack string
	// Again is when the target is tried again; zero where a store panicked.
	Again time.Time
}

func (d *Defect) Error() string { return "defect of the program: " + d.Value }

// newDefect describes a panic from within the deferred call that recovered it.
func newDefect(value any) *Defect {
	stack := debug.Stack()
	if i := bytes.LastIndex(stack, []byte("panic(")); i >= 0 {
		stack = stack[i:]
	}
	return &Defect{Value: fmt.Sprint(value), Stack: string(stack[:min(len(stack), traceBytes)])}
}

// recovered turns a panic into an error; it has to be deferred.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = newDefect(p)
	}
}

// defects counts the panics of one target.
type defects struct {
	inRow int
	again time.Time
}

// add notes one, and returns when the target is tried again.
func (d *defects) add(now time.Time) time.Time {
	if !d.again.IsZero() && now.Sub(d.again) > defectMax {
		d.inRow = 0
	}
	d.again = now.Add(min(defectMin<<min(d.inRow, 20), defectMax))
	d.inRow++
	return d.again
}

// isolated does something with the machine of a fill. A panic stops that fill alone:
// its slices stay as they are until it is tried again, with a load.
func (l *loop) isolated(f *fill, now time.Time, do func(*machine)) {
	if f.machine == nil {
		return
	}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		d := newDefect(p)
		d.Again = f.defects.add(now)
		l.turns.remove(f)
		f.machine, f.outbox, f.unread, f.State = nil, nil, false, nil
		l.agenda.set(f, d.Again)
		survive(func() { f.observe(Outcome{At: now, Pool: f.Pool, SliceName: f.Target.SliceName, Defect: d}, true) }) // it may be what panics
	}()
	do(f.machine)
}

// survive does something, whatever becomes of it.
func survive(do func()) {
	defer func() { _ = recover() }()
	do()
}
