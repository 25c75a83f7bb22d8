package health_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// sockets counts the sockets towards a port, in any state.
func sockets(t *testing.T, port uint16) int {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		lacking(t, "no table of sockets: "+err.Error())
	}
	count := 0
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 3 && strings.HasSuffix(fields[2], fmt.Sprintf(":%04X", port)) {
			count++
		}
	}
	return count
}

// descriptors counts the open files of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		lacking(t, "no list of descriptors: "+err.Error())
	}
	return len(open)
}

// eventually waits until got returns at most want.
func eventually(t *testing.T, what string, want int, got func() int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for got() > want {
		if time.Now().After(deadline) {
			t.Errorf("got %d %s, want at most %d", got(), what, want)
			return
		}
		time.Sleep(time.Millisecond) // polls a condition
	}
}

func TestContract33TenThousandChecksLeaveNothingBehind(t *testing.T) {
	quick := answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	ports := map[health.Mode]uint16{
		health.TCP:  backend(t, loopback, hang),
		health.HTTP: backend(t, loopback, quick),
	}
	for mode, port := range ports {
		checker := newChecker(t, health.Options{Mode: mode, Port: port})
		goroutines, files := runtime.NumGoroutine(), descriptors(t)
		var workers sync.WaitGroup
		for range 20 {
			workers.Go(func() {
				for range 250 {
					expect(t, checker, loopback, inventory.Pass, inventory.Ready)
				}
			})
		}
		workers.Wait()
		eventually(t, "goroutines", goroutines, runtime.NumGoroutine)
		eventually(t, "descriptors", files, func() int { return descriptors(t) })
	}
}

func TestContract33RefusedChecksLeaveNothingBehind(t *testing.T) {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(loopback, 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).AddrPort().Port()
	checker := newChecker(t, health.Options{Port: port})
	unused := netip.MustParseAddr("127.0.0.2")
	expect(t, checker, unused, inventory.Refused, inventory.ProbeRefused)
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	for range 1_000 {
		expect(t, checker, unused, inventory.Refused, inventory.ProbeRefused)
	}
	eventually(t, "goroutines", goroutines, runtime.NumGoroutine)
	eventually(t, "descriptors", files, func() int { return descriptors(t) })
}
