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
	// startWall and startMono are one moment on two clocks; see steadyNow.
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
