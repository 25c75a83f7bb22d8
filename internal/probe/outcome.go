package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// verdict is what a check found, apart from when and where.
type verdict struct {
	outcome inventory.Outcome
	reason  inventory.Reason
	message string
}

func passed(message string) verdict {
	return verdict{inventory.Pass, inventory.Ready, message}
}

func refused(reason inventory.Reason, message string) verdict {
	return verdict{inventory.Refused, reason, message}
}

func silent(reason inventory.Reason, message string) verdict {
	return verdict{inventory.Silent, reason, message}
}

func ours(message string) verdict {
	return verdict{outcome: inventory.LocalError, message: message}
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

// errOurs marks errors that have nothing to do with the backend.
var errOurs = errors.New("our own fault")

// judge says what an error of a check means:
//
//	the context ended                      LocalError
//	no answer in time                      Silent   ProbeTimeout
//	refused, reset, closed                 Refused  ProbeRefused
//	unreachable, though we have a route    Silent   ProbeUnreachable
//	any other errno, our own files         LocalError
//	anything else in or about TLS          Refused  ProbeTLS
//	anything else in HTTP                  Refused  ProbeRefused
//	anything else while connecting         LocalError
func (c *Checker) judge(ctx context.Context, tried attempt, err error) verdict {
	if cause := context.Cause(ctx); cause != nil {
		return ours("the check was given up: " + cause.Error())
	}
	if errors.Is(err, errOurs) {
		return ours(err.Error())
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
		return ours(err.Error())
	case errors.Is(err, io.EOF):
		return refused(inventory.ProbeRefused, tried.what+": the connection was closed without an answer")
	case tried.step == handshaking, isAlert(err):
		return c.judgeTLS(tried, err)
	}
	return refused(inventory.ProbeRefused, tried.what+": "+err.Error())
}

func (c *Checker) judgeTimeout(tried attempt) verdict {
	if tried.step == connecting {
		return silent(inventory.ProbeTimeout, fmt.Sprintf("no answer from %s within %s", tried.target, c.options.Timeout))
	}
	return silent(inventory.ProbeTimeout, fmt.Sprintf("%s: no answer within %s", tried.what, c.options.Timeout))
}

// judgeErrno judges an error of the operating system. The same number can come
// from an ICMP message or from our own routing table, and only the first says
// something about the backend: an ICMP "net unreachable" is ENETUNREACH just
// like a missing route, and a route of type unreachable is EHOSTUNREACH just
// like a neighbour that does not answer.
func (c *Checker) judgeErrno(ctx context.Context, tried attempt, errno syscall.Errno) verdict {
	what := tried.what
	if tried.step == connecting {
		what = "connecting to " + tried.target.String()
	}
	switch errno {
	case syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		syscall.ENOPROTOOPT: // ICMP "protocol unreachable"
		return refused(inventory.ProbeRefused, what+": "+errno.Error())
	case syscall.ETIMEDOUT:
		return c.judgeTimeout(tried)
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN:
	case syscall.EACCES:
		// ICMPv6 "administratively prohibited". IPv4 has no message that
		// becomes EACCES, so there it is our own system that forbids.
		if tried.target.Addr().Is4() {
			return ours(what + ": " + errno.Error())
		}
	default:
		return ours(what + ": " + errno.Error())
	}
	if err := c.route(ctx, tried.target); err != nil {
		return ours(fmt.Sprintf("no route to %s: %s", tried.target.Addr(), errno))
	}
	return silent(inventory.ProbeUnreachable, what+": the network answered: "+errno.Error())
}

// route asks our own routing table for a way to the target. Connecting a UDP
// socket looks up the route and sends nothing.
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

// clean returns the text without control characters and the like, bounded.
func clean(text string) string {
	if len(text) <= messageLimit && printable(text) {
		return text
	}
	cleaned := make([]byte, 0, messageLimit+len("…"))
	for _, r := range text {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			continue
		}
		if len(cleaned)+utf8.RuneLen(r) > messageLimit {
			cleaned = append(cleaned, "…"...)
			break
		}
		cleaned = utf8.AppendRune(cleaned, r)
	}
	return string(cleaned)
}
