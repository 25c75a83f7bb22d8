package xds_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// forward is a fixed address in front of servers that come and go.
type forward struct {
	address string

	mu     sync.Mutex
	behind string
}

func newForward(t *testing.T, behind string) *forward {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &forward{address: listener.Addr().String(), behind: behind}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { f.pass(t, in) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); running.Wait() })
	return f
}

// to makes connections from now on go to another server.
func (f *forward) to(behind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behind = behind
}

// pass copies both ways until one of them ends.
func (f *forward) pass(t *testing.T, in net.Conn) {
	defer in.Close()
	f.mu.Lock()
	behind := f.behind
	f.mu.Unlock()
	var dialer net.Dialer
	out, err := dialer.DialContext(t.Context(), "tcp", behind)
	if err != nil {
		return
	}
	defer out.Close()
	var copying sync.WaitGroup
	copying.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
	_, _ = io.Copy(in, out)
	_ = in.Close()
	copying.Wait()
}
