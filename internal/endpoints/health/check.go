package health

import (
	"context"
	"fmt"
	"net"
	"net/netip"
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

// New returns a checker. What its options say was judged where the documents were.
func New(options Options) *Checker {
	now := time.Now()
	return &Checker{
		options: options,
		// A check is over long before a keep-alive would be sent.
		dialer:    net.Dialer{KeepAlive: -1},
		startWall: now.Round(0),
		startMono: now,
	}
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
	stop := context.AfterFunc(bounded, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	switch c.options.Mode {
	case HTTP:
		return c.get(ctx, conn, target)
	case HTTPS:
		return c.getSecurely(ctx, bounded, conn, target)
	case TCP:
	}
	return passed(target.String() + " accepted the connection")
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

// Options say how to ask. Path and what follows it matters to HTTP and HTTPS only, which
// require Path and Expected.
type Options struct {
	Mode Mode
	// Port is the only port that is ever connected to.
	Port uint16
	// Timeout bounds the whole check, from the first packet to the last byte.
	Timeout time.Duration
	// Path is the target of the request, with its query.
	Path string
	// Host is the Host header, without a port; address and port where it is empty.
	Host string
	// Expected are the statuses to pass.
	Expected Statuses
	TLS      TLS
}
