package health

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// grip is the hold on one address and port.
type grip struct {
	target  netip.AddrPort
	timeout time.Duration
	// first is how long the first connect waits.
	first    time.Duration
	released chan struct{}
	// conn is the open connection, and holders are those that want it, under the
	// lock of its Connections.
	conn    net.Conn
	holders []*Holder
}

// serve makes these the holders of the connection.
func (g *grip) serve(holders []*Holder) {
	if g.conn != nil {
		g.count(-1)
	}
	g.holders = holders
	if g.conn != nil {
		g.count(1)
	}
}

// count counts the connection for its holders.
func (g *grip) count(by int) {
	for _, h := range g.holders {
		h.stats.Held += by
	}
}

// maxBytes bounds what is read of a peer that talks without being asked.
const maxBytes = 64 << 10

// keep connects to one address again and again until it is let go.
//
// It runs for each address, so its stack is kept small: what needs a deep one runs
// in a goroutine of its own and ends.
func (u *Connections) keep(ctx context.Context, g *grip) {
	pause := g.first
	short := pauseMin
	for g.wait(pause) {
		select {
		case <-g.released:
			return
		case u.slots <- struct{}{}:
		}
		opened := time.Now()
		kind := u.session(ctx, g)
		<-u.slots
		if time.Since(opened) > steady {
			short = pauseMin
		}
		pause = short + time.Duration(u.options.Random()*float64(short)/4)
		short = min(2*short, pauseMax)
		if kind != none && u.raise(g, kind) {
			pause += time.Duration(u.options.Random() * float64(spread))
		}
	}
}

// wait waits for a pause, and reports whether the address is still to be held.
func (g *grip) wait(pause time.Duration) bool {
	timer := time.NewTimer(max(pause, time.Nanosecond))
	defer timer.Stop()
	select {
	case <-g.released:
		return false
	case <-timer.C:
		return true
	}
}

// session opens a connection and returns how it was lost: none where it was not
// opened, or where this side closed it.
func (u *Connections) session(ctx context.Context, g *grip) AlarmKind {
	conn := u.open(ctx, g)
	if conn == nil {
		return none
	}
	err := drain(conn)
	_ = conn.Close()
	u.mu.Lock()
	defer u.mu.Unlock()
	g.conn = nil
	g.count(-1)
	if u.grips[g.target] != g || errors.Is(err, errTalks) {
		return none
	}
	return kindOf(err)
}

// open connects, or returns nil.
func (u *Connections) open(ctx context.Context, g *grip) net.Conn {
	opened := make(chan net.Conn, 1)
	go func() {
		u.dialing <- struct{}{}
		defer func() { <-u.dialing }()
		bounded, cancel := context.WithTimeout(ctx, g.timeout)
		defer cancel()
		conn, err := u.options.Dial(bounded, g.target)
		if err != nil {
			conn = nil
		}
		opened <- conn
	}()
	conn := <-opened
	if conn == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.grips[g.target] != g {
		_ = conn.Close()
		return nil
	}
	g.conn = conn
	g.count(1)
	return conn
}

// errTalks says that a peer sends more than an idle connection should carry.
var errTalks = errors.New("the peer sends without being asked")

// drain reads until the connection is lost. What a peer says by itself, such as a
// greeting, is dropped.
func drain(conn net.Conn) error {
	var one [1]byte
	for range maxBytes {
		if _, err := conn.Read(one[:]); err != nil {
			return err
		}
	}
	return errTalks
}

// AlarmKind is how a connection was lost.
type AlarmKind uint8

// The kinds.
const (
	none AlarmKind = iota
	// Closed: the peer ended it.
	Closed
	// Reset: the peer, or something in between, reset it.
	Reset
	// Unanswered: keep-alives were not acknowledged, or the network said that there
	// is no way.
	Unanswered
	kinds
)

// AlarmKinds are all kinds of alarms.
func AlarmKinds() []AlarmKind { return []AlarmKind{Closed, Reset, Unanswered} }

// String returns the kind as metrics and messages say it.
func (k AlarmKind) String() string { return [...]string{"none", "closed", "reset", "unanswered"}[k] }

// kindOf returns what an error of reading says.
func kindOf(err error) AlarmKind {
	timeout := net.Error(nil)
	switch {
	case errors.Is(err, io.EOF):
		return Closed
	case errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.As(err, &timeout) && timeout.Timeout():
		return Unanswered
	}
	return Reset
}

// keepAlive is how often the kernel asks a peer from which nothing comes: every 15 s,
// every 5 s without an answer, and the fourth time without one ends the connection.
// It finds connections that a firewall has forgotten; health checks find dead peers
// earlier. Firewalls forget after minutes, some after one. At 10,000 connections it is
// 670 packets a second each way, which `make bench` measures beside other periods.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// dial opens a TCP connection on which the kernel sends keep-alives.
func dial(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{KeepAliveConfig: keepAlive}
	// Not DialTCP: it binds a local port, which then serves one connection only,
	// whereas connections to different addresses may share one.
	return dialer.DialContext(ctx, "tcp", target.String())
}
