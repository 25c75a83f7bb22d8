package e2e_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// road is a way to the API server that can be cut.
type road struct {
	listener net.Listener
	to       string

	mu sync.Mutex
	// conns are the open connections; what is sent on a stranded one is lost.
	conns map[net.Conn]strandedRoad
	cut   cut
}

type strandedRoad bool

// cut is how a road is closed.
type cut int

const (
	open cut = iota
	refusing
	swallowing
)

func newRoad(t *testing.T, to string) *road {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &road{listener: listener, to: to, conns: map[net.Conn]strandedRoad{}}
	var traffic sync.WaitGroup
	traffic.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			traffic.Go(func() { r.carry(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		r.close(refusing)
		traffic.Wait()
	})
	return r
}

// close cuts the road: what is on it is lost, and where it refuses, so are the
// connections.
func (r *road) close(how cut) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = how
	if how == refusing {
		for conn := range r.conns {
			_ = conn.Close()
		}
	}
}

// strand makes the open connections swallow everything from now on. New connections
// work as the road does.
func (r *road) strand() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn := range r.conns {
		r.conns[conn] = true
	}
}

// state returns how it is cut, and notes a connection that is closed with it.
func (r *road) state(conns ...net.Conn) cut {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range conns {
		r.conns[conn] = false
	}
	return r.cut
}

// swallows reports whether what is sent on a connection is lost.
func (r *road) swallows(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut == swallowing || bool(r.conns[conn])
}

// carry carries one connection.
func (r *road) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", r.to)
	if err != nil || r.state(near, far) == refusing {
		return
	}
	defer far.Close()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(gate{way[0], r}, way[1])
			if !r.swallows(way[0]) {
				_ = way[0].Close()
			}
		})
	}
	both.Wait()
}

// gate drops what is written while the road swallows.
type gate struct {
	net.Conn
	road *road
}

func (g gate) Write(data []byte) (int, error) {
	if g.road.swallows(g.Conn) {
		return len(data), nil
	}
	return g.Conn.Write(data)
}
