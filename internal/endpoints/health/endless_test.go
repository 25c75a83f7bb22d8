package health_test

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// trickle says the first text, and then the second again and again.
func trickle(first, again string, pause time.Duration) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		readRequest(conn)
		text := first
		for {
			if _, err := conn.Write([]byte(text)); err != nil {
				return
			}
			text = again
			<-time.After(pause)
		}
	}
}

// TestContract09AnAnswerWithoutEndIsNoPass: a backend that sends without an end is
// not healthy, and blocks no check for longer than its timeout.
func TestContract09AnAnswerWithoutEndIsNoPass(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*net.TCPConn){
		"100 Continue for ever":        trickle("", "HTTP/1.1 100 Continue\r\n\r\n", time.Millisecond),
		"early hints for ever":         trickle("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 20*time.Millisecond),
		"a status line byte by byte":   trickle("H", "T", 20*time.Millisecond),
		"a header byte by byte":        trickle("HTTP/1.1 200 OK\r\nX-A: ", "a", 20*time.Millisecond),
		"a body byte by byte":          trickle("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n", "a", 20*time.Millisecond),
		"chunks without a last one":    trickle("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n", 20*time.Millisecond),
		"a chunk that never has ended": trickle("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=", "a", 20*time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := backend(t, loopback, serve)
			checker := newChecker(t, health.Options{Mode: health.HTTP, Port: port, Timeout: time.Second})
			got := check(t.Context(), checker, loopback)
			if got.Outcome != inventory.Silent && got.Outcome != inventory.Refused {
				t.Errorf("got %s (%s), want a failure", got.Outcome, got.Message)
			}
		})
	}
}

// TestContract09NoFreePortIsALocalError uses up the ports of a namespace of its own.
func TestContract09NoFreePortIsALocalError(t *testing.T) {
	netns.Require(t)
	results := make(chan any, 2)
	go func() {
		defer close(results)
		runtime.LockOSThread() // for good: the namespace ends with the thread
		if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
			results <- err
			return
		}
		if out, err := exec.CommandContext(t.Context(), "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
			results <- string(out)
			return
		}
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("40000 40001"), 0o644); err != nil {
			results <- err
			return
		}
		var listening net.ListenConfig
		listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:80")
		if err != nil {
			results <- err
			return
		}
		defer listener.Close()
		checker := health.New(health.Options{Port: 80, Timeout: time.Second})
		results <- checker.Check(t.Context(), netip.MustParseAddr("127.0.0.1"))
		for held := 0; held < 2; { // the check's own port may take a moment to be free again
			var dialer net.Dialer
			if conn, err := dialer.DialContext(t.Context(), "tcp", "127.0.0.1:80"); err == nil {
				defer conn.Close()
				held++
			} else if t.Context().Err() != nil {
				return
			}
		}
		results <- checker.Check(t.Context(), netip.MustParseAddr("127.0.0.1"))
	}()
	if got, ok := (<-results).(inventory.Result); !ok || got.Outcome != inventory.Pass {
		t.Fatalf("with free ports: got %v, want a pass", got)
	}
	got, _ := (<-results).(inventory.Result)
	if got.Outcome != inventory.LocalError {
		t.Errorf("without: got %s (%s), want a local error", got.Outcome, got.Message)
	}
}
