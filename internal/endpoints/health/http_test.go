package health_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// stranger returns a server for connections that should never be made, and reports
// each of them.
func stranger(met chan<- string) func(*net.TCPConn) {
	return func(conn *net.TCPConn) { met <- "connected, " + readRequest(conn) }
}

// recorded returns a server that sends one answer on each connection, and reports
// each request.
func recorded(requests chan<- string, text string) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		requests <- readRequest(conn)
		_, _ = conn.Write([]byte(text))
		readRequest(conn)
	}
}

// request returns the request that a backend recorded before it answered.
func request(t *testing.T, requests <-chan string) string {
	t.Helper()
	select {
	case request := <-requests:
		return request
	default:
		t.Fatal("no request reached the backend")
		return ""
	}
}

func TestContract11ARedirectIsAnAnswerAndNotFollowed(t *testing.T) {
	strangers := make(chan string, 100)
	elsewhere := backend(t, loopback, stranger(strangers))
	redirect := fmt.Sprintf("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\nRefresh: 0; url=http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n", elsewhere, elsewhere)
	port := backend(t, loopback, answer(redirect))
	expect(t, newChecker(t, health.Options{Mode: health.HTTP, Port: port}), loopback, inventory.Pass, inventory.Ready)
	expect(t, newChecker(t, health.Options{Mode: health.HTTP, Port: port, Expected: only{200}}), loopback, inventory.Refused, inventory.ProbeStatus)
	if len(strangers) > 0 {
		t.Errorf("the redirect was followed: %q", <-strangers)
	}
}

func TestContract11NoProxyIsUsed(t *testing.T) {
	// Proxies are never used for loopback addresses, so this needs another.
	address := netns.Addresses(t, 1)[0]
	strangers := make(chan string, 100)
	proxy := backend(t, loopback, stranger(strangers))
	port := backend(t, address, answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	_, printed := startRole(t, "check "+netip.AddrPortFrom(address, port).String(), func(command *exec.Cmd) {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			value := "=http://" + netip.AddrPortFrom(loopback, proxy).String()
			command.Env = append(command.Env, name+value, strings.ToLower(name)+value)
		}
	})
	if got := next[inventory.Result](t, printed); got.Outcome != inventory.Pass {
		t.Errorf("got %s (%s), want Pass", got.Outcome, got.Message)
	}
	if len(strangers) > 0 {
		t.Errorf("the proxy was asked: %q", <-strangers)
	}
}

func TestContract11EveryRequestIsTheSameWhateverTheAnswersSay(t *testing.T) {
	requests := make(chan string, 2)
	port := backend(t, loopback, recorded(requests, "HTTP/1.1 200 OK\r\nSet-Cookie: session=1; Path=/\r\nConnection: keep-alive\r\nAlt-Svc: h2=\":1\"\r\nETag: \"1\"\r\nContent-Length: 0\r\n\r\n"))
	checker := newChecker(t, health.Options{Mode: health.HTTP, Port: port, Path: "/healthz?full=1"})
	want := fmt.Sprintf("GET /healthz?full=1 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: ionos-endpointslice-controller\r\nAccept: */*\r\nConnection: close\r\n\r\n", port)
	for range 2 {
		expect(t, checker, loopback, inventory.Pass, inventory.Ready)
		// A request on a kept connection would not arrive here: the backend reads one
		// request for each connection.
		if diff := cmp.Diff(want, request(t, requests)); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
	}
}

func TestContract11OnlyTheMembersAddressAndPortAreConnectedTo(t *testing.T) {
	strangers := make(chan string, 100)
	elsewhere := netip.AddrPortFrom(loopback, backend(t, loopback, stranger(strangers)))
	tests := []struct{ name, path, host, line, header string }{
		{"a host that names another", "/", "127.0.0.2", "GET / HTTP/1.1", "Host: 127.0.0.2\r\n"},
		{"a host with IPv6", "/", "fd00::1", "GET / HTTP/1.1", "Host: [fd00::1]\r\n"},
		{"a path that looks like an authority", "//" + elsewhere.String() + "/", "", "GET //" + elsewhere.String() + "/ HTTP/1.1", "Host: 127.0.0.1:"},
		{"a query that looks like a URL", "/?to=http://" + elsewhere.String(), "", "GET /?to=http://" + elsewhere.String() + " HTTP/1.1", "Host: 127.0.0.1:"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			requests := make(chan string, 1)
			port := backend(t, loopback, recorded(requests, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
			expect(t, newChecker(t, health.Options{Mode: health.HTTP, Port: port, Path: test.path, Host: test.host}), loopback, inventory.Pass, inventory.Ready)
			if got := request(t, requests); !strings.HasPrefix(got, test.line+"\r\n"+test.header) {
				t.Errorf("got request %q, want line %q and header %q", got, test.line, test.header)
			}
		})
	}
	if len(strangers) > 0 {
		t.Errorf("another address was connected to: %q", <-strangers)
	}
}

func TestContract11AtMostTenKibibytesAreRead(t *testing.T) {
	// padded returns an answer of exactly this length. Its body is not at its end.
	padded := func(length int) string {
		head := "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
		return head + strings.Repeat("a", length-len(head))
	}
	read := func(serve func(*net.TCPConn), timeout time.Duration) inventory.Result {
		port := backend(t, loopback, serve)
		return check(context.Background(), newChecker(t, health.Options{Mode: health.HTTP, Port: port, Timeout: timeout}), loopback)
	}
	// What comes after 10 KiB is not waited for, what comes before is.
	if got := read(answer(padded(10<<10)), 0); got.Outcome != inventory.Pass {
		t.Errorf("10 KiB and then nothing: got %s (%s), want Pass", got.Outcome, got.Message)
	}
	if got := read(answer(padded(10<<10-1)), time.Second); got.Outcome != inventory.Silent {
		t.Errorf("a byte less and then nothing: got %s (%s), want Silent", got.Outcome, got.Message)
	}
	endless := func(conn *net.TCPConn) {
		readRequest(conn)
		_, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
		for err == nil {
			_, err = conn.Write([]byte("400\r\n" + strings.Repeat("a", 1024) + "\r\n"))
		}
	}
	if got := read(endless, 0); got.Outcome != inventory.Pass {
		t.Errorf("a body without end: got %s (%s), want Pass", got.Outcome, got.Message)
	}
}

func TestTheHostHeaderOmitsTheStandardPort(t *testing.T) {
	netns.Require(t) // port 80 is free there, and ours to take
	for _, address := range []netip.Addr{loopback, netip.IPv6Loopback()} {
		if address.Is6() {
			requireIPv6(t)
		}
		requests := make(chan string, 1)
		backendAt(t, netip.AddrPortFrom(address, 80), recorded(requests, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
		expect(t, newChecker(t, health.Options{Mode: health.HTTP, Port: 80}), address, inventory.Pass, inventory.Ready)
		host := address.String()
		if address.Is6() {
			host = "[" + host + "]"
		}
		if got, want := request(t, requests), "\r\nHost: "+host+"\r\n"; !strings.Contains(got, want) {
			t.Errorf("got request %q, want %q in it", got, want)
		}
	}
}

func TestABackendSeesAnOrdinaryEndAndNothingStaysBehind(t *testing.T) {
	for _, mode := range []health.Mode{health.TCP, health.HTTP} {
		t.Run(string(mode), func(t *testing.T) {
			const checks = 50
			ends, leave := make(chan error, checks), make(chan struct{})
			port := backend(t, loopback, func(conn *net.TCPConn) {
				if mode == health.HTTP {
					readRequest(conn)
					_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
				}
				_, err := conn.Read(make([]byte, 1))
				ends <- err
				<-leave // a backend that is slow to close
			})
			checker := newChecker(t, health.Options{Mode: mode, Port: port})
			for range checks {
				expect(t, checker, loopback, inventory.Pass, inventory.Ready)
			}
			for range checks {
				if err := <-ends; err == nil || err.Error() != "EOF" {
					t.Errorf("the backend read %v, want EOF", err)
				}
			}
			eventually(t, "sockets of ours", 0, func() int { return sockets(t, port) })
			close(leave)
		})
	}
}
