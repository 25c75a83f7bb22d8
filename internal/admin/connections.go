package admin

import (
	"net"
	"net/http"
	"sync"
)

// openConnections bounds the connections of a listener. If there are too many, the
// connection whose state changed least recently is closed: it is idle, or slow with
// its request or with reading the answer. So clients that only hold connections
// cannot keep out the probes of Kubernetes, which open a new connection each time. If
// the listener stopped accepting instead, they could.
type openConnections struct {
	limit int

	mu sync.Mutex
	// turn counts what was noted; last is when each connection last changed.
	turn uint64
	last map[net.Conn]uint64
}

func newOpenConnections(limit int) *openConnections {
	return &openConnections{limit: limit, last: make(map[net.Conn]uint64)}
}

// note is the ConnState of an http.Server.
func (o *openConnections) note(conn net.Conn, state http.ConnState) {
	if surplus := o.keep(conn, state); surplus != nil {
		_ = surplus.Close() // the server notices, and notes it here
	}
}

// keep keeps the books, and returns the connection that has to go, if any.
func (o *openConnections) keep(conn net.Conn, state http.ConnState) net.Conn {
	o.mu.Lock()
	defer o.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(o.last, conn)
		return nil
	}
	o.turn++
	o.last[conn] = o.turn
	if len(o.last) <= o.limit {
		return nil
	}
	longest := conn
	for c, turn := range o.last {
		if turn < o.last[longest] {
			longest = c
		}
	}
	// It no longer counts: otherwise the next connection would close another one.
	delete(o.last, longest)
	return longest
}
