package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Checker asks one address once, the same way each time. It may be used by many
// goroutines at once and holds nothing open between two checks.
//
// Every check makes a connection of its own, because clients of the Service need
// new connections to work. An old one would go on answering after the listener is
// gone, a firewall rule has changed or the address has moved.
type Checker struct {
	options Options
	dialer  net.Dialer
	// readers keeps the buffers of finished HTTP checks for the next ones.
	readers sync.Pool
	roots   roots
	// startWall and startMono are one moment on two clocks; see judgeTLS.
	startWall, startMono time.Time
}

// New returns a checker.
func New(options Options) (*Checker, error) {
	options = options.withDefaults()
	if err := options.check(); err != nil {
		return nil, err
	}
	now := time.Now()
	return &Checker{
		options: options,
		// A check is over long before a keep-alive would be sent.
		dialer:    net.Dialer{KeepAlive: -1},
		startWall: now.Round(0),
		startMono: now,
	}, nil
}

// Check asks the address and says what it learned. It returns soon after the
// time-out at the latest, or when the context ends.
//
// A check that ends more than half a time-out too late is a LocalError whatever it
// saw: the process was stopped or starved, or its machine suspended.
func (c *Checker) Check(ctx context.Context, address netip.Addr) inventory.Result {
	sent := time.Now()
	found := c.ask(ctx, netip.AddrPortFrom(address, c.options.Port))
	latency := time.Since(sent)
	if latency > c.options.Timeout+c.options.Timeout/2 {
		found = localError(fmt.Sprintf("the check took %s although its timeout is %s: this process was stopped or starved",
			latency.Round(time.Millisecond), c.options.Timeout))
	}
	return inventory.Result{
		Address: address,
		At:      sent,
		Latency: latency,
		Outcome: found.outcome,
		Reason:  found.reason,
		Message: clean(found.message),

		NoConnection: found.outcome == inventory.Silent && found.step == connecting,
	}
}

// ask connects, asks what the mode wants to know, and hangs up.
func (c *Checker) ask(ctx context.Context, target netip.AddrPort) answer {
	if !target.IsValid() {
		return localError("no valid address to check")
	}
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	// Not DialTCP: it binds a local port, of which held connections may leave none.
	dialed, err := c.dialer.DialContext(bounded, "tcp", target.String())
	if err != nil {
		return c.judge(ctx, attempt{target: target, step: connecting}, err)
	}
	conn := dialed.(*net.TCPConn) //nolint:errcheck // that is what TCP gives
	defer hangUp(conn)
	if c.options.Mode == TCP {
		return passed(target.String() + " accepted the connection")
	}
	stop := context.AfterFunc(bounded, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if c.options.Mode == HTTP {
		return c.get(ctx, conn, target)
	}
	return c.getSecurely(ctx, bounded, conn, target)
}

// Mode is how an address is asked.
type Mode string

// The modes.
const (
	// TCP connects and leaves.
	TCP Mode = "tcp"
	// HTTP sends a GET request and looks at the status.
	HTTP Mode = "http"
	// HTTPS does so over TLS and verifies the certificate.
	HTTPS Mode = "https"
)

// Statuses says which HTTP statuses a healthy backend answers with.
type Statuses interface {
	Contains(status int) bool
	// String returns the statuses as the operator wrote them: "200-399".
	String() string
}

// Options say how to ask. Port and Timeout are required, and Path and what
// follows it matters to HTTP and HTTPS only.
type Options struct {
	// Mode is TCP where it is empty.
	Mode Mode
	// Port is the only port that is ever connected to.
	Port uint16
	// Timeout bounds the whole check, from the first packet to the last byte.
	Timeout time.Duration
	// Path is the target of the request, with its query; "/" where it is empty.
	Path string
	// Host is the Host header; address and port where it is empty.
	Host string
	// Expected are the statuses to pass; 200 to 399 where it is nil.
	Expected Statuses
	TLS      TLS
}

// withDefaults returns the options with what was left empty filled in.
func (o Options) withDefaults() Options {
	o.Mode, o.Path = cmp.Or(o.Mode, TCP), cmp.Or(o.Path, "/")
	if o.Expected == nil {
		o.Expected = statusRange{low: 200, high: 399}
	}
	return o
}

// check returns every mistake in the options.
func (o Options) check() error {
	var mistakes []error
	complain := func(format string, args ...any) {
		mistakes = append(mistakes, fmt.Errorf("health check: "+format, args...))
	}
	switch o.Mode {
	case TCP, HTTP, HTTPS:
	default:
		complain("unknown mode %q", o.Mode)
	}
	if o.Port == 0 {
		complain("no port")
	}
	if o.Timeout <= 0 {
		complain("time-out %s is not positive", o.Timeout)
	}
	if !validPath(o.Path) {
		complain("path %q is not an absolute path of printable characters", o.Path)
	}
	if o.Host != "" && !validHost(o.Host) {
		complain("host %q is not a host name or host:port", o.Host)
	}
	return errors.Join(mistakes...)
}

// validPath reports whether path can stand in a request line as it is.
func validPath(path string) bool {
	_, err := url.ParseRequestURI(path)
	return err == nil && path[0] == '/' && printable(path) && !strings.ContainsAny(path, " #")
}

// validHost reports whether host is what stands between // and / in a URL,
// without a user.
func validHost(host string) bool {
	parsed, err := url.Parse("http://" + host + "/")
	return err == nil && parsed.Host == host && parsed.Hostname() != "" && printable(host) &&
		!strings.ContainsAny(host, " %")
}

// printable reports whether text is of printable ASCII characters only.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// statusRange is the default for Statuses.
type statusRange struct{ low, high int }

// Contains reports whether the status is in the range.
func (r statusRange) Contains(status int) bool { return r.low <= status && status <= r.high }

// String returns the range as "200-399".
func (r statusRange) String() string { return fmt.Sprintf("%d-%d", r.low, r.high) }
