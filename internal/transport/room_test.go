package transport_test

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// conn is a connection from a machine.
type conn struct {
	net.Conn

	from   string
	closed bool
}

func (c *conn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.from), Port: 1} }
func (c *conn) Close() error         { c.closed = true; return nil }

func opened(r *transport.Room, from string) *conn {
	c := &conn{from: from}
	r.Note(c, http.StateNew)
	return c
}

func closed(all []*conn) (count int) {
	for _, c := range all {
		if c.closed {
			count++
		}
	}
	return count
}

// TestContract143AFloodLeavesAYoungConnectionTheTimeForItsRequest: within a second 500 others
// come behind a probe, from the same machine.
func TestContract143AFloodLeavesAYoungConnectionTheTimeForItsRequest(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := transport.NewRoom(64, 0, 0)
		probe := opened(r, "10.0.0.1")
		r.Note(probe, http.StateActive)
		var flood []*conn
		for range 200 { // where the system allows 1,024 descriptors, a quarter may be taken
			flood = append(flood, opened(r, "10.0.0.1"))
		}
		if probe.closed || closed(flood) > 0 {
			t.Error("a young connection is closed")
		}
		time.Sleep(2 * time.Second)
		flood = append(flood, opened(r, "10.0.0.1"))
		if got := closed(append(flood, probe)); got != 201-64 {
			t.Errorf("%d old connections are closed, want all but 64", got)
		}
	})
}

// TestContract143AFloodOfOneMachineClosesNoConnectionOfAnother: however fast it is.
func TestContract143AFloodOfOneMachineClosesNoConnectionOfAnother(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := transport.NewRoom(64, 0, 0)
		probe := opened(r, "10.0.0.9")
		var flood []*conn
		for range 5000 {
			flood = append(flood, opened(r, "10.0.0.1"))
		}
		if probe.closed || closed(flood) < 5000-1024 {
			t.Errorf("closed: the probe %t, of the flood %d", probe.closed, closed(flood))
		}
	})
}

// TestContract143StrangersTakeNoRoomOfKnownClients: nor these of each other beyond a bound.
func TestContract143StrangersTakeNoRoomOfKnownClients(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := transport.NewRoom(4, 3, 2)
		one, two := opened(r, "10.0.0.1"), opened(r, "10.0.0.2")
		if first, again := r.Know(one, "shop/a"), r.Know(one, "shop/a"); !first || !again || !r.Know(two, "shop/a") {
			t.Fatal("there is room for two")
		}
		for range 100 {
			r.Note(opened(r, "10.0.0.3"), http.StateIdle)
		}
		three := opened(r, "10.0.0.1")
		if one.closed || two.closed || three.closed {
			t.Error("strangers take the room of known clients")
		}
		if r.Know(three, "shop/a") {
			t.Error("one client has more than its room")
		}
		if !r.Know(three, "shop/b") || r.Know(opened(r, "10.0.0.4"), "shop/c") {
			t.Error("the room of all clients is another one")
		}
		r.Note(one, http.StateClosed)
		if four := opened(r, "10.0.0.1"); !r.Know(four, "shop/a") {
			t.Error("what is closed takes room")
		}
	})
}
