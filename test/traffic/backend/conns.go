package main

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// idle are the connections on which no request has come yet, or none since the last one.
type idle struct {
	mu    sync.Mutex
	mode  mode
	conns map[net.Conn]waitingConn
}

// waitingConn is a connection without a request.
type waitingConn struct {
	state http.ConnState // StateNew or StateIdle
	timer *time.Timer    // ends it; nil if the mode does not
}

func (w waitingConn) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// track follows the states of a connection.
func (i *idle) track(conn net.Conn, state http.ConnState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.conns[conn].stop()
	if state != http.StateNew && state != http.StateIdle {
		delete(i.conns, conn)
		return
	}
	if i.conns == nil {
		i.conns = map[net.Conn]waitingConn{}
	}
	i.conns[conn] = waitingConn{state, i.timer(conn, state)}
}

// bound applies a mode to connections that are open and to later ones.
func (i *idle) bound(m mode) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.mode = m
	for conn, w := range i.conns {
		w.stop()
		i.conns[conn] = waitingConn{w.state, i.timer(conn, w.state)}
	}
}

// timer ends a connection when the mode says so; nil if it does not.
func (i *idle) timer(conn net.Conn, state http.ConnState) *time.Timer {
	word := i.mode.word
	switch {
	case state == http.StateNew && (word == "idle" || word == "reset"), state == http.StateIdle && word == "keep":
	default:
		return nil
	}
	return time.AfterFunc(i.mode.delay, func() {
		if tcp, ok := conn.(*net.TCPConn); ok && word == "reset" {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	})
}

// oneByOne hands out a connection in the mode "single" when the one before it is
// closed, as a server without threads does.
type oneByOne struct {
	net.Listener
	backend *backend
	free    chan struct{} // closed with the connection before; nil when there is none
}

func (o *oneByOne) Accept() (net.Conn, error) {
	conn, err := o.Listener.Accept()
	if err != nil || o.backend.mode.Load().word != "single" {
		return conn, err
	}
	if o.free != nil {
		<-o.free
	}
	o.free = make(chan struct{})
	return &only{Conn: conn, free: o.free}, nil
}

// only is the one connection that is served.
type only struct {
	net.Conn
	once sync.Once
	free chan struct{}
}

func (c *only) Close() error {
	c.once.Do(func() { close(c.free) })
	return c.Conn.Close()
}
