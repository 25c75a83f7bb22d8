package transport

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// young is how long a connection that asked for nothing yet is left alone, so that a
// flood of others gives it time for its request. mostYoung is how many of these there
// may be.
const young, mostYoung = time.Second, 1024

// Room bounds the connections of one listener. Until it is known whose a connection is, it
// takes none of the room of those that are known, and makes way for newer ones: the probes of
// Kubernetes and clients that come back open a new one each time. If the listener stopped
// accepting instead, clients that only hold connections could keep them out. Its methods may
// be called at the same time.
type Room struct {
	// strangers is how many connections may be held of which it is not known whose they
	// are, known how many of the others, and ofOne how many of one name.
	strangers, known, ofOne int

	mu sync.Mutex
	// turn counts what was noted.
	turn  uint64
	open  map[net.Conn]*connection
	names map[string]int
	// named is how many connections have a name.
	named int
}

// connection is one that is open.
type connection struct {
	since time.Time
	host  string
	// turn is when something became of it last; asked says that a request of it was
	// answered.
	turn  uint64
	asked bool
	// known says that it is known whose it is, name whose; empty where that is nobody in
	// particular.
	known bool
	name  string
}

// NewRoom returns room for so many connections of strangers, of known clients, and of one of them.
func NewRoom(strangers, known, ofOne int) *Room {
	return &Room{strangers: strangers, known: known, ofOne: ofOne, open: make(map[net.Conn]*connection), names: make(map[string]int)}
}

// Note is the ConnState of an http.Server.
func (r *Room) Note(conn net.Conn, state http.ConnState) {
	for _, surplus := range r.note(conn, state, time.Now()) {
		_ = surplus.Close() // the server notices, and notes it here
	}
}

// note keeps the books, and returns the connections that have to go. These do not count any
// more: otherwise the next connection would close others.
func (r *Room) note(conn net.Conn, state http.ConnState, now time.Time) []net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		r.forget(conn)
		return nil
	}
	r.turn++
	c := r.open[conn]
	if c == nil {
		if state != http.StateNew {
			return nil // it was closed here
		}
		host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		c = &connection{since: now, host: host}
		r.open[conn] = c
	}
	c.turn, c.asked = r.turn, c.asked || state == http.StateIdle
	var surplus []net.Conn
	for one := r.surplus(now); one != nil; one = r.surplus(now) {
		r.forget(one)
		surplus = append(surplus, one)
	}
	return surplus
}

// surplus returns a stranger's connection that has to go, nil for none: of those that had
// their time the one that was idle, or slow, for longest; and where there are too many at all,
// one of the machine that has the most.
func (r *Room) surplus(now time.Time) net.Conn {
	of := make(map[string]int)
	all, settled, most := 0, 0, 0
	for _, c := range r.open {
		if c.known {
			continue
		}
		all++
		of[c.host]++
		most = max(most, of[c.host])
		if c.settled(now) {
			settled++
		}
	}
	switch {
	case settled > r.strangers:
		return r.longest(func(c *connection) bool { return c.settled(now) })
	case all > SocketShare(mostYoung):
		return r.longest(func(c *connection) bool { return of[c.host] == most })
	}
	return nil
}

// settled reports whether a connection had the time for its request.
func (c *connection) settled(now time.Time) bool { return c.asked || now.Sub(c.since) >= young }

// longest is the stranger's connection of those of which nothing was noted for longest.
func (r *Room) longest(of func(*connection) bool) net.Conn {
	var longest net.Conn
	for conn, c := range r.open {
		if !c.known && of(c) && (longest == nil || c.turn < r.open[longest].turn) {
			longest = conn
		}
	}
	return longest
}

// Know says whose a connection is. It reports whether there is room for it; where there is
// none, the connection stays that of a stranger.
func (r *Room) Know(conn net.Conn, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.open[conn]
	switch {
	case c == nil:
		return false
	case c.known:
		return true
	case r.named >= r.known || name != "" && r.names[name] >= r.ofOne:
		return false
	}
	c.known, c.name = true, name
	r.named++
	r.names[name]++
	return true
}

func (r *Room) forget(conn net.Conn) {
	c := r.open[conn]
	if c == nil {
		return
	}
	delete(r.open, conn)
	if !c.known {
		return
	}
	r.named--
	if r.names[c.name]--; r.names[c.name] == 0 {
		delete(r.names, c.name)
	}
}

// Listen gives each connection that a listener accepts a place, for servers that do not tell
// what becomes of theirs.
func (r *Room) Listen(listener net.Listener) net.Listener { return roomListener{listener, r} }

type roomListener struct {
	net.Listener

	room *Room
}

// Accept implements net.Listener.
func (n roomListener) Accept() (net.Conn, error) {
	raw, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &roomConn{Conn: raw, room: n.room}
	n.room.Note(conn, http.StateNew)
	return conn, nil
}

// roomConn is a connection that leaves its place when it is closed.
type roomConn struct {
	net.Conn

	room *Room
}

// Close implements net.Conn.
func (c *roomConn) Close() error {
	c.room.Note(c, http.StateClosed)
	return c.Conn.Close()
}
