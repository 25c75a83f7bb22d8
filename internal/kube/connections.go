package kube

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// connections are those of one client.
type connections struct {
	mu   sync.Mutex
	open map[*connection]struct{}
}

// connection is one of them. In HTTP/2 it carries many requests at once.
type connection struct {
	net.Conn

	all *connections
	// received is when something last came in, used when a request last went out;
	// both under the lock of all.
	received, used time.Time
}

func newConnections() *connections { return &connections{open: make(map[*connection]struct{})} }

// dialer opens one connection.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// through returns a dialer whose connections are among these.
func (c *connections) through(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		opened := &connection{Conn: dialed, all: c, received: time.Now()}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open[opened] = struct{}{}
		return opened, nil
	}
}

// take notes that a request goes out over the connection, and returns which it is;
// nil for one that is not of these.
func (c *connections) take(conn net.Conn) *connection {
	for {
		if taken, ok := conn.(*connection); ok {
			c.mu.Lock()
			defer c.mu.Unlock()
			taken.used = time.Now()
			return taken
		}
		outer, ok := conn.(interface{ NetConn() net.Conn }) // of package tls
		if !ok {
			return nil
		}
		conn = outer.NetConn()
	}
}

// closeSilent closes the connections over which nothing came since then, also the
// one of the request without an answer. It spares those of other requests that were
// sent later: they may still be answered.
func (c *connections) closeSilent(since time.Time, own *connection) {
	c.closeIf(func(one *connection) bool {
		return one.received.Before(since) && (one == own || one.used.Before(since))
	})
}

// closeIf closes the chosen connections.
func (c *connections) closeIf(chosen func(*connection) bool) {
	var closing []*connection
	c.mu.Lock()
	for one := range c.open {
		if chosen(one) {
			closing = append(closing, one)
		}
	}
	c.mu.Unlock()
	for _, one := range closing {
		_ = one.Close() // a request that uses it gets the error
	}
}

// localAddr returns the address of this machine that an open connection has, the
// zero value where none is open.
func (c *connections) localAddr() netip.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one := range c.open {
		if local, err := netip.ParseAddrPort(one.LocalAddr().String()); err == nil {
			return local.Addr().Unmap()
		}
	}
	return netip.Addr{}
}

// Read notes that something came.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.all.mu.Lock()
		defer c.all.mu.Unlock()
		c.received = time.Now()
	}
	return n, err
}

// Close forgets the connection.
func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// receiveBuffer is how many bytes of one answer are received before they are read; the
// default of HTTP/2 is 4 MiB for each.
const receiveBuffer = 512 << 10

// receiveLess bounds what is received ahead of its reader.
func receiveLess(tripper http.RoundTripper) {
	switch t := tripper.(type) {
	case *http.Transport:
		t.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: receiveBuffer}
	case utilnet.RoundTripperWrapper:
		receiveLess(t.WrappedRoundTripper())
	}
}
