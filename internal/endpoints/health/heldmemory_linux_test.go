package health_test

import (
	"context"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// BenchmarkHold opens 10,000 connections on the loopback, or as many as the limit
// of descriptors allows for both ends, and reports what each costs in this process.
// The kernel's part, about 4 KiB each, is measured by `make bench`.
func BenchmarkHold(b *testing.B) {
	n := min(10_000, transport.SpareSockets(1000))
	peers := &peers{}
	port := peers.listen(b)
	var all []netip.Addr
	for i := range n {
		all = append(all, netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)}))
	}
	for b.Loop() {
		before := inUse()
		ctx, cancel := context.WithCancel(b.Context())
		var running sync.WaitGroup
		holder := holder(ctx, b, &running, health.ConnectionsOptions{MaxConnections: n, Random: func() float64 { return 0 }},
			health.HolderOptions{Port: port, Timeout: time.Minute, Interval: time.Second, Alarm: func(health.Alarm) {}})
		holder.Watch(all)
		for holder.Stats().Held < n {
			time.Sleep(time.Millisecond)
		}
		b.ReportMetric(float64(inUse()-before)/float64(n), "B/connection")
		cancel()
		running.Wait()
		peers.close()
	}
}

// inUse is what heap and stacks take after a collection.
func inUse() uint64 {
	for range 3 {
		runtime.GC() // shrinks the stacks
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// peers are the other ends, opened by the system's calls: nothing of them counts as
// memory of this process.
type peers struct {
	mu   sync.Mutex
	open []int
}

// listen accepts connections until the benchmark ends.
func (p *peers) listen(b *testing.B) (port uint16) {
	b.Helper()
	listener, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	if err := syscall.Bind(listener, &syscall.SockaddrInet4{}); err != nil {
		b.Fatal(err)
	}
	if err := syscall.Listen(listener, 4096); err != nil {
		b.Fatal(err)
	}
	at, err := syscall.Getsockname(listener)
	if err != nil {
		b.Fatal(err)
	}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, _, err := syscall.Accept(listener)
			if err != nil {
				return
			}
			p.mu.Lock()
			p.open = append(p.open, conn)
			p.mu.Unlock()
		}
	})
	b.Cleanup(func() {
		_ = syscall.Shutdown(listener, syscall.SHUT_RDWR)
		accepting.Wait()
		_ = syscall.Close(listener)
		p.close()
	})
	return uint16(at.(*syscall.SockaddrInet4).Port) //nolint:forcetypeassert // it is one
}

func (p *peers) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.open {
		_ = syscall.Close(conn)
	}
	p.open = nil
}
