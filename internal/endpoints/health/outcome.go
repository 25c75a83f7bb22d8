package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// answer is what a check found, apart from when and where.
type answer struct {
	outcome inventory.Outcome
	reason  inventory.Reason
	message string
	// step is how far a check came that was silent.
	step step
}

func passed(message string) answer {
	return answer{outcome: inventory.Pass, reason: inventory.Ready, message: message}
}

func refused(reason inventory.Reason, message string) answer {
	return answer{outcome: inventory.Refused, reason: reason, message: message}
}

func silent(at step, reason inventory.Reason, message string) answer {
	return answer{inventory.Silent, reason, message, at}
}

func localError(message string) answer {
	return answer{outcome: inventory.LocalError, message: message}
}

// step is how far a check came.
type step uint8

const (
	connecting step = iota
	handshaking
	asking
)

// attempt is what was tried when an error came.
type attempt struct {
	target netip.AddrPort
	step   step
	// what names the attempt in messages; empty while connecting.
	what string
}

// errLocal marks errors that say nothing of the backend.
var errLocal = errors.New("local error")

// judge says what an error of a check means:
//
//	the context ended                      LocalError
//	no answer in time                      Silent   ProbeTimeout
//	refused, reset, closed                 Refused  ProbeRefused
//	unreachable, with a local route        Silent   ProbeUnreachable
//	any other errno, local files           LocalError
//	anything else in or about TLS          Refused  ProbeTLS
//	anything else in HTTP                  Refused  ProbeRefused
//	anything else while connecting         LocalError
func (c *Checker) judge(ctx context.Context, tried attempt, err error) answer {
	if cause := context.Cause(ctx); cause != nil {
		return localError("the check was given up: " + cause.Error())
	}
	if errors.Is(err, errLocal) {
		return localError(err.Error())
	}
	// EAGAIN calls itself a time-out too, so the errno is looked at first.
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return c.judgeErrno(ctx, tried, errno)
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return c.judgeTimeout(tried)
	}
	switch {
	case tried.step == connecting:
		return localError(err.Error())
	case errors.Is(err, io.EOF):
		return refused(inventory.ProbeRefused, tried.what+": the connection was closed without an answer")
	case tried.step == handshaking, isAlert(err):
		return c.judgeTLS(tried, err)
	}
	return refused(inventory.ProbeRefused, tried.what+": "+err.Error())
}

func (c *Checker) judgeTimeout(tried attempt) answer {
	if tried.step == connecting {
		return silent(tried.step, inventory.ProbeTimeout, fmt.Sprintf("no answer from %s within HEALTH_CHECK_TIMEOUT=%s", tried.target, c.options.Timeout))
	}
	return silent(tried.step, inventory.ProbeTimeout, fmt.Sprintf("%s: no answer within HEALTH_CHECK_TIMEOUT=%s", tried.what, c.options.Timeout))
}

// judgeErrno judges an error of the operating system. The same number can come
// from an ICMP message or from the local routing table, and only the first says
// something of the backend: ENETUNREACH is an ICMP "net unreachable" or a missing
// route, EHOSTUNREACH a neighbour that does not answer or a route of type
// unreachable.
func (c *Checker) judgeErrno(ctx context.Context, tried attempt, errno syscall.Errno) answer {
	what := tried.what + ": " + errno.Error()
	switch {
	case tried.step == connecting && errno == syscall.ECONNREFUSED:
		what = "connection refused by " + tried.target.String()
	case tried.step == connecting:
		what = "connecting to " + tried.target.String() + ": " + errno.Error()
	}
	switch errno {
	case syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		syscall.ENOPROTOOPT: // ICMP "protocol unreachable"
		return refused(inventory.ProbeRefused, what)
	case syscall.ETIMEDOUT:
		return c.judgeTimeout(tried)
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN:
	case syscall.EACCES:
		// ICMPv6 "administratively prohibited". IPv4 has no message that
		// becomes EACCES, so there the local system forbids it.
		if tried.target.Addr().Is4() {
			return localError(what)
		}
	default:
		return localError(what)
	}
	if err := c.route(ctx, tried.target); err != nil {
		return localError(fmt.Sprintf("this machine has no route to %s: %s", tried.target.Addr(), errno))
	}
	return silent(tried.step, inventory.ProbeUnreachable, what)
}

// route asks the local routing table. Connecting a UDP socket looks up the route
// and sends nothing.
func (c *Checker) route(ctx context.Context, target netip.AddrPort) error {
	conn, err := c.dialer.DialUDP(ctx, "udp", netip.AddrPort{}, target)
	if err != nil {
		return fmt.Errorf("route to %s: %w", target.Addr(), err)
	}
	return conn.Close()
}

// isAlert reports whether TLS was ended by an alert, which in TLS 1.3 can come
// after the handshake. Package tls tells it apart only by the operation.
func isAlert(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && (operation.Op == "remote error" || operation.Op == "local error")
}

// messageLimit bounds a message, in bytes. What a backend answers is part of it.
const messageLimit = 256

// clean returns the text as one line, bounded.
func clean(text string) string { return transport.Cut(transport.Printable(text), messageLimit) }
