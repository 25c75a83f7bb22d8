package apiproxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// gate is a listener that can refuse connections, or accept them and not serve them,
// and serve again at the same port.
type gate struct {
	address netip.AddrPort
	// keeper is a socket that is bound to the port and never listens. No other
	// program gets the port while connections are refused.
	keeper int

	mu sync.Mutex
	// turned is told when listener or closed has changed.
	turned *sync.Cond
	// listener is nil while connections are refused.
	listener net.Listener
	closed   bool
	// passage is closed while data passes.
	passage chan struct{}
	conns   map[*gatedConn]bool
}

// newGate listens on a free port of the address.
func newGate(ctx context.Context, address netip.Addr) (*gate, error) {
	g := &gate{passage: make(chan struct{}), conns: map[*gatedConn]bool{}}
	g.turned = sync.NewCond(&g.mu)
	close(g.passage)
	var err error
	if g.listener, err = listen(ctx, netip.AddrPortFrom(address, 0)); err != nil {
		return nil, err
	}
	g.address = g.listener.Addr().(*net.TCPAddr).AddrPort()
	if g.keeper, err = keep(g.address); err != nil {
		_ = g.listener.Close() // the error before says more
		return nil, err
	}
	return g, nil
}

// Accept implements [net.Listener].
func (g *gate) Accept() (net.Conn, error) {
	for {
		g.mu.Lock()
		for g.listener == nil && !g.closed {
			g.turned.Wait()
		}
		listener, closed := g.listener, g.closed
		g.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		// An error says that it was closed, to refuse or for good.
		if conn, err := listener.Accept(); err == nil {
			return g.admit(conn.(*net.TCPConn)), nil
		}
	}
}

// Addr implements [net.Listener].
func (g *gate) Addr() net.Addr { return net.TCPAddrFromAddrPort(g.address) }

// Close implements [net.Listener].
func (g *gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	g.turned.Broadcast()
	if g.listener != nil {
		_ = g.listener.Close() // an error changes nothing: no connection follows
	}
	return unix.Close(g.keeper)
}

// refuse resets open connections and refuses new ones.
func (g *gate) refuse() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listener != nil {
		_ = g.listener.Close() // it refuses either way
		g.listener = nil
	}
	g.reset()
}

// resetAll resets what is connected.
func (g *gate) resetAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reset()
}

// reset resets what is connected, without waiting: a connection that ends takes
// the lock that the caller holds.
func (g *gate) reset() {
	for c := range g.conns {
		go c.reset()
	}
}

// swallow lets nothing pass.
func (g *gate) swallow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.passage:
		g.passage = make(chan struct{})
	default:
	}
}

// letThrough ends swallowing.
func (g *gate) letThrough() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.passage:
	default:
		close(g.passage)
	}
}

// open lets everything pass.
func (g *gate) open(ctx context.Context) error {
	g.letThrough()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listener != nil || g.closed {
		return nil
	}
	listener, err := listen(ctx, g.address)
	if err != nil {
		return err
	}
	g.listener = listener
	g.turned.Broadcast()
	return nil
}

// admit makes a connection one of the gate's.
func (g *gate) admit(conn *net.TCPConn) *gatedConn {
	c := &gatedConn{TCPConn: conn, gate: g, gone: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns[c] = true
	return c
}

// strand lets nothing pass any more on what is connected.
func (g *gate) strand() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		c.stranded.Store(true)
	}
}

// gatedConn is a connection through a gate.
type gatedConn struct {
	*net.TCPConn
	gate *gate
	once sync.Once
	gone chan struct{}
	// stranded connections are beyond help.
	stranded atomic.Bool
}

// Read implements [net.Conn]. What arrives while the gate swallows is handed on
// when it opens.
func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.await()
	return n, err
}

// Write implements [net.Conn].
func (c *gatedConn) Write(b []byte) (int, error) {
	c.await()
	return c.TCPConn.Write(b)
}

// Close implements [net.Conn].
func (c *gatedConn) Close() error {
	c.once.Do(func() {
		close(c.gone)
		c.gate.mu.Lock()
		defer c.gate.mu.Unlock()
		delete(c.gate.conns, c)
	})
	return c.TCPConn.Close()
}

// await returns when the gate is open or the connection closed.
func (c *gatedConn) await() {
	c.gate.mu.Lock()
	passage := c.gate.passage
	c.gate.mu.Unlock()
	if c.stranded.Load() {
		<-c.gone
	}
	select {
	case <-passage:
	case <-c.gone:
	}
}

// reset closes the connection with a reset for the other side.
func (c *gatedConn) reset() {
	_ = c.SetLinger(0) // it may be closed already
	_ = c.Close()
}

// reset closes the connection below TLS.
func reset(conn net.Conn) {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if c, ok := conn.(*gatedConn); ok {
		c.reset()
	}
}

// listen listens beside the keeper of the port.
func listen(ctx context.Context, address netip.AddrPort) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		if control := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}); control != nil {
			return control
		}
		return err
	}}
	return config.Listen(ctx, "tcp", address.String())
}

// keep binds a socket to an IPv4 address and never listens.
func keep(address netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("keep %v: %w", address, err)
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()})
	}
	if err != nil {
		_ = unix.Close(fd) // the error before says more
		return 0, fmt.Errorf("keep %v: %w", address, err)
	}
	return fd, nil
}
