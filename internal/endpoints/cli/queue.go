package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

const (
	// queueLines is how many lines of the log wait for their reader.
	queueLines = 4096
	// queueEnd is how long the end of the program waits for them.
	queueEnd = time.Second
)

// queue stands between the daemon and the reader of its log. If the reader stands
// still, its pipe is full: a direct write would block the daemon, and dead endpoints
// would stay in the slices. Lines that find no room are lost; the log says how many
// when there is room again.
type queue struct {
	out io.Writer
	// tell writes to out; it is set before there are lines.
	tell *slog.Logger
	done chan struct{}

	lines chan []byte
	lost  atomic.Int64
}

// newQueue begins to pass lines on to out, until end.
func newQueue(out io.Writer) *queue {
	q := &queue{out: out, done: make(chan struct{}), lines: make(chan []byte, queueLines)}
	go func() {
		defer close(q.done)
		for line := <-q.lines; line != nil; line = <-q.lines {
			if n := q.lost.Swap(0); n > 0 && q.tell != nil {
				q.tell.Warn("lines of the log are lost, because they were not read in time", "lines", n)
			}
			_, _ = q.out.Write(line) // an error could not be reported anywhere
		}
	}()
	return q
}

// Write takes one line, and never waits.
func (q *queue) Write(line []byte) (int, error) {
	select {
	case q.lines <- append([]byte{}, line...):
	default:
		q.lost.Add(1)
	}
	return len(line), nil
}

// end waits until the lines are taken, at most queueEnd. What is written later is lost.
func (q *queue) end() {
	over := time.After(queueEnd)
	select {
	case q.lines <- nil:
	case <-over:
		return
	}
	select {
	case <-q.done:
	case <-over:
	}
}

// complain tells the last error, without waiting for ever.
func complain(out io.Writer, err error) {
	q := newQueue(out)
	fmt.Fprintln(q, "Error:", transport.PrintableLines(err.Error()))
	q.end()
}

// colour reports whether standard output may be coloured: on a terminal that
// understands it, unless NO_COLOR says otherwise (no-color.org).
func (p Program) colour() bool {
	return isTerminal(p.Stdout) && commandline.Variable(p.Environ, "NO_COLOR") == "" && commandline.Variable(p.Environ, "TERM") != "dumb"
}

// isTerminal reports whether a person may be looking.
func isTerminal(out io.Writer) bool {
	switch out := out.(type) {
	case *queue:
		return isTerminal(out.out)
	case *os.File:
		return term.IsTerminal(int(out.Fd()))
	}
	return false
}
