package kubernetes_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// gate is the network before an API server, which can be cut and can stall.
type gate struct {
	listener net.Listener
	server   string

	mu          sync.Mutex
	cut, stalls bool
	flow        chan struct{} // closed while it does not stall
	open        map[net.Conn]bool
	running     sync.WaitGroup
}

// newGate opens a gate before the server until the test ends.
func newGate(t *testing.T, server string) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: listener, server: server, open: map[net.Conn]bool{}, flow: make(chan struct{})}
	close(g.flow)
	g.running.Go(g.accept)
	t.Cleanup(func() {
		listener.Close()
		g.mend()
		g.closeAll()
		g.running.Wait()
	})
	return g
}

// url is where the API server is from outside.
func (g *gate) url() string { return "https://" + g.listener.Addr().String() }

func (g *gate) accept() {
	for {
		outside, err := g.listener.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		cut := g.cut
		g.mu.Unlock()
		if cut {
			outside.Close()
			continue
		}
		inside, err := net.Dial("tcp", g.server)
		if err != nil {
			outside.Close()
			continue
		}
		g.mu.Lock()
		g.open[outside], g.open[inside] = true, true
		g.mu.Unlock()
		g.running.Go(func() { g.carry(inside, outside) })
		g.running.Go(func() { g.carry(outside, inside) })
	}
}

// carry copies until one side ends, and then ends both.
func (g *gate) carry(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		g.mu.Lock()
		flow := g.flow
		g.mu.Unlock()
		<-flow
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				err = io.ErrClosedPipe
			}
		}
		if err != nil {
			break
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range []net.Conn{to, from} {
		conn.Close()
		delete(g.open, conn)
	}
}

func (g *gate) closeAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for conn := range g.open {
		conn.Close()
	}
}

// sever ends every connection and lets no new one through.
func (g *gate) sever() {
	g.mu.Lock()
	g.cut = true
	g.mu.Unlock()
	g.closeAll()
}

// stall accepts connections and carries nothing.
func (g *gate) stall() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stalls {
		g.stalls, g.flow = true, make(chan struct{})
	}
}

// mend carries everything again.
func (g *gate) mend() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut = false
	if g.stalls {
		g.stalls = false
		close(g.flow)
	}
}
