package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// Checker asks one address once, the same way each time. It may be used by many
// goroutines at once and holds nothing open between two checks.
//
// Every check makes a connection of its own. A connection that was kept would
// go on answering after the listener is gone, a firewall rule was changed or the
// address moved to another machine, and what users of the Service need is that
// new connections work.
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
// A check that ends more than half a time-out too late was not run in time:
// the process was stopped, starved or its machine suspended. Whatever such a
// check saw, it is our own fault.
func (c *Checker) Check(ctx context.Context, address netip.Addr) inventory.Result {
	sent := time.Now()
	answer := c.ask(ctx, netip.AddrPortFrom(address, c.options.Port))
	latency := time.Since(sent)
	if latency > c.options.Timeout+c.options.Timeout/2 {
		answer = ours(fmt.Sprintf("the check took %s with a time-out of %s: this process did not run meanwhile",
			latency.Round(time.Millisecond), c.options.Timeout))
	}
	return inventory.Result{
		Address: address,
		At:      sent,
		Latency: latency,
		Outcome: answer.outcome,
		Reason:  answer.reason,
		Message: clean(answer.message),
	}
}

// ask makes the connection and leaves it, and asks in between what the mode
// wants to know.
func (c *Checker) ask(ctx context.Context, target netip.AddrPort) verdict {
	if !target.IsValid() {
		return ours("no valid address to check")
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
