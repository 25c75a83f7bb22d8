package health_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		playRole(role)
		return
	}
	netns.Enter()
	goleak.VerifyTestMain(m)
}

// sized names a benchmark by its size.
func sized(size int) string { return "addresses=" + strconv.Itoa(size) }

// inBubbles counts the goroutines of bubbles. Those of tests on real sockets end, and begin, at
// any time.
func inBubbles() int {
	stacks := make([]byte, 16<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "synctest bubble")
}

// loopback is where the backends of the tests listen.
var loopback = netip.MustParseAddr("127.0.0.1")

// lacking skips a test for what the machine does not have. Where CI=true stands
// for a machine that has everything, the test fails instead.
func lacking(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s; CI=true forbids to skip for that", reason)
	}
	t.Skip(reason)
}

// requireIPv6 skips a test on a machine without IPv6.
func requireIPv6(t testing.TB) {
	t.Helper()
	listener, err := net.ListenTCP("tcp6", net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.IPv6Loopback(), 0)))
	if err != nil {
		lacking(t, "no IPv6 here: "+err.Error())
	}
	_ = listener.Close()
}

// backend serves on some port of an address; see backendAt.
func backend(t testing.TB, address netip.Addr, serve func(*net.TCPConn)) (port uint16) {
	t.Helper()
	return backendAt(t, netip.AddrPortFrom(address, 0), serve)
}

// backendAt listens until the test ends, and hands each connection to serve,
// which runs in a goroutine of its own and must end when the connection is
// closed.
func backendAt(t testing.TB, at netip.AddrPort, serve func(*net.TCPConn)) (port uint16) {
	t.Helper()
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	var (
		serving sync.WaitGroup
		mu      sync.Mutex
		open    = map[*net.TCPConn]bool{}
	)
	serving.Go(func() {
		for {
			conn, err := listener.AcceptTCP()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			serving.Go(func() {
				serve(conn)
				_ = conn.Close()
				mu.Lock()
				delete(open, conn)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return listener.Addr().(*net.TCPAddr).AddrPort().Port()
}

// readRequest reads up to the empty line that ends a request without a body.
func readRequest(conn net.Conn) string {
	var request []byte
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		request = append(request, buffer[:n]...)
		if len(request) >= 4 && string(request[len(request)-4:]) == "\r\n\r\n" || err != nil {
			return string(request)
		}
	}
}

// answer returns what serves connections with one answer to one request, and
// then waits for the other side to leave.
func answer(text string) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		readRequest(conn)
		_, _ = conn.Write([]byte(text))
		readRequest(conn)
	}
}

// hang waits for the other side to leave.
func hang(conn *net.TCPConn) { readRequest(conn); readRequest(conn) }

// newChecker returns a checker with a time-out that only a broken check reaches.
func newChecker(t testing.TB, options health.Options) *health.Checker {
	t.Helper()
	options.Timeout, options.Path = cmp.Or(options.Timeout, 20*time.Second), cmp.Or(options.Path, "/")
	options.Expected = cmp.Or[health.Statuses](options.Expected, statuses{200, 399})
	return health.New(options)
}

// statuses are those to pass, from one to another.
type statuses struct{ low, high int }

func (s statuses) Contains(status int) bool { return s.low <= status && status <= s.high }

func (s statuses) String() string { return fmt.Sprintf("%d-%d", s.low, s.high) }

// check checks an address, and again as often as this process got too little of the
// machine: then the result says nothing of the address.
func check(ctx context.Context, checker *health.Checker, address netip.Addr) inventory.Result {
	for {
		if got := checker.Check(ctx, address); !strings.Contains(got.Message, "was stopped or starved") {
			return got
		}
	}
}

// expect checks an address and compares outcome and reason.
func expect(t testing.TB, checker *health.Checker, address netip.Addr, outcome inventory.Outcome, reason inventory.Reason) inventory.Result {
	t.Helper()
	got := check(context.Background(), checker, address)
	if got.Outcome != outcome || got.Reason != reason {
		t.Errorf("got %s %s (%s), want %s %s", got.Outcome, got.Reason, got.Message, outcome, reason)
	}
	if got.Address != address || got.At.IsZero() || got.Message == "" {
		t.Errorf("got address %s, at %s, message %q, want each of them", got.Address, got.At, got.Message)
	}
	return got
}
