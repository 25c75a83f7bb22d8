//go:build simulation

package simulation_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"
)

// What becomes of held connections.
const (
	// unanswered is after how long keep-alives without an answer end one.
	unanswered = 30 * time.Second
	// idle is how long some backends let one be.
	idle = 5 * time.Second
)

// line is a connection that a process holds, and far its other end.
type line struct {
	net.Conn
	far     net.Conn
	from    *heldConns
	process *process
	address netip.Addr
	opened  time.Time
	// cause is what reading says once far is closed, the end of the stream where it
	// is nil.
	cause error
}

// heldConns are the open connections, in the order in which they were opened. They have a
// lock of their own, because a holder closes connections under its own.
type heldConns struct {
	mu   sync.Mutex
	open []*line
}

// lossesKept is how long a process remembers lost connections.
const lossesKept = 10 * time.Minute

// loses notes that the process lost a connection.
func (p *process) loses() {
	for len(p.losses) > 0 && time.Since(p.losses[0]) > lossesKept {
		p.losses = p.losses[1:]
	}
	p.losses = append(p.losses, time.Now())
}

func (l *line) Read(into []byte) (int, error) {
	n, err := l.Conn.Read(into)
	if l.cause != nil && errors.Is(err, io.EOF) {
		err = l.cause
	}
	return n, err
}

func (l *line) Close() error {
	l.from.mu.Lock()
	l.from.open = slices.DeleteFunc(l.from.open, func(other *line) bool { return other == l })
	l.from.mu.Unlock()
	return l.Conn.Close()
}

// of returns the open lines that a process has, to one address where it is valid.
func (h *heldConns) of(p *process, a netip.Addr) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, one := range h.open {
		if one.process == p && (!a.IsValid() || one.address == a) {
			n++
		}
	}
	return n
}

// dial opens a connection to a backend, as it behaves then.
func (p *process) dial(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
	w, a := p.w, target.Addr()
	w.mu.Lock()
	takes := odd(w.next("dial " + a.String()))
	if !allowed(a) || target.Port() != w.target.Ports[0].Number {
		w.breach(6, "a connection to %s", target)
	}
	w.mu.Unlock()
	if err := sleep(ctx, takes); err != nil {
		return nil, err
	}
	w.mu.Lock()
	is := w.connects(a)
	if is == passes {
		defer w.mu.Unlock()
		return w.connect(p, a), nil
	}
	w.mu.Unlock()
	if is == silent {
		<-ctx.Done()
		// Connects that began together time out together, and the clock of a bubble
		// draws the order of timers of one instant anew in each run.
		time.Sleep(takes)
		return nil, ctx.Err()
	}
	return nil, syscall.ECONNREFUSED
}

// connects is what becomes of a connect.
func (w *world) connects(a netip.Addr) behaviour {
	b, ok := w.backends[a]
	switch {
	case w.probing.in(noFiles):
		return troubles
	case w.probing.in(cutOff), w.blind(a):
		return silent
	case !ok:
		return refuses
	case b.is == refuses, b.is == silent:
		return b.is
	}
	return passes
}

// connect opens a line. The caller has the lock.
func (w *world) connect(p *process, a netip.Addr) net.Conn {
	if w.held.of(p, a) > 0 {
		w.breach(33, "two connections to %s are held", a)
	}
	if n := w.held.of(p, netip.Addr{}); n >= w.set.connections {
		w.breach(33, "%d connections are held, at most %d allowed", n+1, w.set.connections)
	}
	near, far := net.Pipe()
	l := &line{Conn: near, far: far, from: &w.held, process: p, address: a, opened: time.Now()}
	w.held.mu.Lock()
	defer w.held.mu.Unlock()
	w.held.open = append(w.held.open, l)
	w.counts["held"]++
	return l
}

// cut ends the lines that are chosen. The caller has the lock.
func (w *world) cut(cause error, chosen func(*line) bool) {
	w.held.mu.Lock()
	defer w.held.mu.Unlock()
	for _, l := range w.held.open {
		if !chosen(l) || l.far == nil {
			continue
		}
		w.note("process %d loses its connection to %s: %v", l.process.number, l.address, cause)
		l.cause = cause
		_ = l.far.Close()
		l.far = nil
		l.process.loses()
		w.counts["lost connections"]++
	}
}

// crash ends what was connected to a backend that refuses from now on. That is
// seen at once where its last check was none that takes long.
func (w *world) crash(a netip.Addr, was behaviour) {
	w.held.mu.Lock()
	holding := map[*process]int{}
	for _, l := range w.held.open {
		if l.far != nil {
			holding[l.process]++
		}
	}
	for _, l := range w.held.open {
		if l.address == a && l.far != nil && was == passes {
			l.process.alarmed[a] = holding[l.process]
		}
	}
	w.held.mu.Unlock()
	w.cut(pick(w.next("crash"), nil, error(syscall.ECONNRESET)), func(l *line) bool { return l.address == a })
}

// fray ends connections that a backend leaves idle no longer, or from which no
// keep-alive is answered.
func (w *world) fray() {
	w.cut(nil, func(l *line) bool {
		return time.Since(l.opened) >= idle && w.dice("idle "+l.address.String(), 0).IntN(6) == 0
	})
	w.cut(syscall.ETIMEDOUT, func(l *line) bool {
		b := w.backends[l.address]
		return b.is == silent && time.Since(b.since) >= unanswered || w.blind(l.address) && time.Since(w.pair.leader.since) >= unanswered || w.probing.in(cutOff) && time.Since(w.cutAt) >= unanswered
	})
}

// strikeConnections ends some although nothing happened to the backends: one of
// them restarts within milliseconds, a firewall forgets some or all.
func (w *world) strikeConnections() {
	r := w.next("connections")
	if len(w.nodes) == 0 || r.IntN(4) > 0 {
		return
	}
	victim, share := w.nodes[r.IntN(len(w.nodes))].Addresses[0], pick(r, 2, 4)
	all := r.IntN(3) == 0
	w.cut(pick(r, nil, error(syscall.ECONNRESET)), func(l *line) bool {
		return all || l.address == victim || share == 2 && r.IntN(2) == 0
	})
}

// sawCrash reports whether the loss of an address's connection is an alarm that
// counts: the address began to refuse, and the process lost few of its held
// connections in the same interval. A loss long ago is no reason to be strict.
func (p *process) sawCrash(a netip.Addr) bool {
	w := p.w
	since, lost, held := w.backends[a].since, 0, p.alarmed[a]
	if held == 0 || time.Since(since) > lossesKept-time.Minute {
		return false
	}
	w.held.mu.Lock()
	defer w.held.mu.Unlock()
	for _, at := range p.losses {
		if apart := at.Sub(since).Abs(); apart <= w.set.policy.Interval+100*time.Millisecond {
			lost++
		}
	}
	return lost == 1 || lost*2 <= held
}
