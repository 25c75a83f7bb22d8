package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

// responder answers for all backends of a case.
type responder struct {
	c probing.Case

	mu       sync.Mutex
	began    time.Time
	total    int
	seen     map[int]bool
	arrivals []probing.Arrival
}

// respond answers until the context or the input ends. Each line of the input is
// an order: "seen" prints how many connections there were and how many backends
// had one, "begin" forgets the arrivals, "end" prints those since, each with the
// number of the backend and its time in nanoseconds, and an empty line.
func respond(ctx context.Context, c probing.Case, in io.Reader, out io.Writer) error {
	listener, err := (&net.ListenConfig{KeepAlive: -1}).Listen(ctx, "tcp4", fmt.Sprintf("0.0.0.0:%d", probing.Port))
	if err != nil {
		return err
	}
	r := &responder{c: c, began: time.Now(), seen: map[int]bool{}}
	go func() {
		<-ctx.Done()
		_ = listener.Close()
	}()
	go r.accept(ctx, listener)
	writer := bufio.NewWriter(out)
	for orders := bufio.NewScanner(in); orders.Scan(); {
		r.obey(orders.Text(), writer)
		if err := writer.Flush(); err != nil {
			return err
		}
	}
	return listener.Close()
}

func (r *responder) obey(order string, out io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch order {
	case "seen":
		fmt.Fprintln(out, r.total, len(r.seen))
	case "begin":
		r.began, r.arrivals = time.Now(), nil
	case "end":
		for _, a := range r.arrivals {
			fmt.Fprintln(out, a.Backend, int64(a.At))
		}
		fmt.Fprintln(out)
	}
}

func (r *responder) accept(ctx context.Context, listener net.Listener) {
	for {
		conn, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			continue
		}
		backend := probing.Backend(conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr()) //nolint:errcheck // a TCP listener's
		r.mu.Lock()
		r.total++
		r.seen[backend] = true
		r.arrivals = append(r.arrivals, probing.Arrival{Backend: backend, At: time.Since(r.began)})
		r.mu.Unlock()
		go r.serve(ctx, conn, backend)
	}
}

// serve answers one request, or waits for the end. It ends its own direction first,
// as most servers do after "Connection: close".
func (r *responder) serve(ctx context.Context, conn net.Conn, backend int) {
	defer func() { _ = conn.Close() }()
	buffer := make([]byte, 1024)
	if n, err := conn.Read(buffer); n == 0 || err != nil {
		return
	}
	if r.c.Slow == probing.Late && r.c.IsSlow(backend) {
		select {
		case <-ctx.Done():
		case <-time.After(probing.LateAnswer):
		}
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
	_ = conn.(*net.TCPConn).CloseWrite() //nolint:errcheck // a TCP listener's
	_, _ = io.Copy(io.Discard, conn)
}
