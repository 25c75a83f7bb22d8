package health_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// reset ends a connection by a reset.
func reset(conn *net.TCPConn) {
	readRequest(conn)
	_ = conn.SetLinger(0)
}

func TestContract09AnAnswerIsAPassOrARefusal(t *testing.T) {
	const ok, refused, status = inventory.Ready, inventory.ProbeRefused, inventory.ProbeStatus
	tests := []struct {
		name    string
		serve   func(*net.TCPConn)
		reason  inventory.Reason
		message string // what follows the request in the message
	}{
		{"200", answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), ok, " answered 200 OK"},
		{"200 without a phrase", answer("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"), ok, " answered 200"},
		{"204 on a connection that stays open", answer("HTTP/1.1 204 No Content\r\n\r\n"), ok, " answered 204 No Content"},
		{"chunks", answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), ok, " answered 200 OK"},
		{"early hints first", answer("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), ok, " answered 200 OK"},
		{"503", answer("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"), status, " answered 503 Service Unavailable, not HEALTH_CHECK_EXPECTED_STATUS=200-399"},
		{"400", answer("HTTP/1.0 400 Bad Request\r\n\r\n"), status, " answered 400 Bad Request, not HEALTH_CHECK_EXPECTED_STATUS=200-399"},
		{"switching protocols", answer("HTTP/1.1 101 Switching Protocols\r\n\r\n"), status, " answered 101 Switching Protocols, not HEALTH_CHECK_EXPECTED_STATUS=200-399"},
		{"closed after accept", func(*net.TCPConn) {}, refused, ""},
		{"closed within the headers", func(conn *net.TCPConn) {
			readRequest(conn)
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n"))
		}, refused, ": the connection was closed without an answer"},
		{"reset after accept", reset, refused, ": connection reset by peer"},
		{"body breaks off", func(conn *net.TCPConn) {
			readRequest(conn)
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"))
		}, refused, " answered 200 OK, then its body: unexpected EOF"},
		{"not HTTP", answer("SSH-2.0-OpenSSH_9.6\r\n"), refused, `: malformed HTTP response "SSH-2.0-OpenSSH_9.6"`},
		{"bad framing", answer("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"), refused, `: bad Content-Length "many"`},
		{"headers without end", answer("HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 11<<10)), refused, " answered with more than 10240 bytes of headers"},
		{"control characters", answer("HTTP/1.1 503 \x1b[31mred\x07\r\nContent-Length: 0\r\n\r\n"), status, " answered 503  [31mred , not HEALTH_CHECK_EXPECTED_STATUS=200-399"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			port := backend(t, loopback, test.serve)
			outcome := inventory.Refused
			if test.reason == ok {
				outcome = inventory.Pass
			}
			got := expect(t, newChecker(t, health.Options{Mode: health.HTTP, Port: port, Path: "/healthz"}), loopback, outcome, test.reason)
			if want := "GET http://" + netip.AddrPortFrom(loopback, port).String() + "/healthz" + test.message; !strings.HasPrefix(got.Message, want) {
				t.Errorf("got message %q, want %q", got.Message, want)
			}
		})
	}
}

func TestContract09TheStatusesToPassAreTheConfiguredOnes(t *testing.T) {
	port := backend(t, loopback, answer("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"))
	only200 := newChecker(t, health.Options{Mode: health.HTTP, Port: port, Expected: only{200}})
	expect(t, only200, loopback, inventory.Refused, inventory.ProbeStatus)
	only302 := newChecker(t, health.Options{Mode: health.HTTP, Port: port, Expected: only{302}})
	expect(t, only302, loopback, inventory.Pass, inventory.Ready)
}

// only is one status.
type only struct{ status int }

func (o only) Contains(status int) bool { return status == o.status }
func (o only) String() string           { return "just one" }

func TestContract09AConnectionIsAPassAndItsRefusalARefusal(t *testing.T) {
	port := backend(t, loopback, hang)
	got := expect(t, newChecker(t, health.Options{Port: port}), loopback, inventory.Pass, inventory.Ready)
	if want := netip.AddrPortFrom(loopback, port).String() + " accepted the connection"; got.Message != want {
		t.Errorf("got message %q, want %q", got.Message, want)
	}
	// Nothing listens on 127.0.0.2.
	got = expect(t, newChecker(t, health.Options{Port: port}), netip.MustParseAddr("127.0.0.2"), inventory.Refused, inventory.ProbeRefused)
	if want := "connection refused by " + netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), port).String(); got.Message != want {
		t.Errorf("got message %q, want %q", got.Message, want)
	}
}

func TestContract09NoAnswerInTimeIsSilence(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		mode    health.Mode
		port    uint16
		message string
	}{
		{"a full backlog", health.TCP, fullBacklog(t), "no answer from ADDRESS within HEALTH_CHECK_TIMEOUT=1s"},
		{"no answer after accept", health.HTTP, backend(t, loopback, hang), "GET http://ADDRESS/: no answer within HEALTH_CHECK_TIMEOUT=1s"},
		{"half an answer", health.HTTP, backend(t, loopback, answer("HTTP/1.1 200 OK\r\n")), "GET http://ADDRESS/: no answer within HEALTH_CHECK_TIMEOUT=1s"},
		{"half a body", health.HTTP, backend(t, loopback, answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")), "GET http://ADDRESS/ answered 200 OK, then its body: no answer within HEALTH_CHECK_TIMEOUT=1s"},
		{"no TLS after accept", health.HTTPS, backend(t, loopback, hang), "TLS handshake with ADDRESS: no answer within HEALTH_CHECK_TIMEOUT=1s"},
	}
	got := make([]inventory.Result, len(tests))
	var asking sync.WaitGroup // all at once, because each takes its second
	for i, test := range tests {
		checker := newChecker(t, health.Options{Mode: test.mode, Port: test.port, Timeout: time.Second})
		asking.Go(func() { got[i] = expect(t, checker, loopback, inventory.Silent, inventory.ProbeTimeout) })
	}
	asking.Wait()
	for i, test := range tests {
		want := strings.ReplaceAll(test.message, "ADDRESS", netip.AddrPortFrom(loopback, test.port).String())
		if got[i].Message != want {
			t.Errorf("%s: got message %q, want %q", test.name, got[i].Message, want)
		}
	}
}

// fullBacklog returns a port that neither accepts nor refuses connections, as on a
// host that drops packets.
func fullBacklog(t *testing.T) uint16 {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: loopback.As4()}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := name.(*syscall.SockaddrInet4).Port
	conn, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: loopback.AsSlice(), Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return uint16(port)
}

func TestContract09ACancelledCheckIsALocalError(t *testing.T) {
	shutdown := errors.New("shutting down")
	for _, mode := range []health.Mode{health.HTTP, health.HTTPS} {
		t.Run(string(mode), func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			port := backend(t, loopback, func(conn *net.TCPConn) {
				cancel(shutdown) // once the check is in flight
				_, _ = io.Copy(io.Discard, conn)
			})
			got := newChecker(t, health.Options{Mode: mode, Port: port}).Check(ctx, loopback)
			if got.Outcome != inventory.LocalError || got.Reason != "" || !strings.Contains(got.Message, "shutting down") {
				t.Errorf("got %s %q (%s), want a LocalError without reason that names the cause", got.Outcome, got.Reason, got.Message)
			}
		})
	}
	t.Run("before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if got := newChecker(t, health.Options{Port: 1}).Check(ctx, loopback); got.Outcome != inventory.LocalError {
			t.Errorf("got %s (%s), want LocalError", got.Outcome, got.Message)
		}
	})
}

func TestContract09NothingToCheckIsALocalError(t *testing.T) {
	got := newChecker(t, health.Options{Port: 1}).Check(context.Background(), netip.Addr{})
	if got.Outcome != inventory.LocalError || got.Reason != "" {
		t.Errorf("got %s %q, want LocalError without a reason", got.Outcome, got.Reason)
	}
}

func TestAMessageIsBoundedWhateverTheBackendAnswers(t *testing.T) {
	port := backend(t, loopback, answer("HTTP/1.1 500 "+strings.Repeat("ü", 4<<10)+"\r\n\r\n"))
	got := expect(t, newChecker(t, health.Options{Mode: health.HTTP, Port: port}), loopback, inventory.Refused, inventory.ProbeStatus)
	if len(got.Message) > 300 || !strings.HasSuffix(got.Message, "ü ...") {
		t.Errorf("got %d bytes: %q, want at most 300 with a mark that it was cut", len(got.Message), got.Message)
	}
}
