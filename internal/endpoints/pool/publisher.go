package pool

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// publisher says when a verdict reaches the targets. One with a new address that
// was never checked waits a moment for that check, so that replacing a node makes
// one write (ADR 11). No later verdict extends the wait, and a verdict that takes a
// dead endpoint away does not wait. It only waits for other endpoints that are
// checked after an alarm of the same moment: kube-proxy may use a second write only
// a second later.
type publisher struct {
	grace time.Duration
	// until is when what waits is published at the latest.
	until time.Time
	// published is the newest verdict that the targets have, newest the one that
	// waits, since when something does.
	published, newest *guard.Verdict
	since             time.Time
}

// together is how long a death waits for others of the same moment.
const together = 50 * time.Millisecond

// offer takes a verdict in and returns the one to publish now, nil if it waits.
func (p *publisher) offer(v *guard.Verdict, unchecked func(netip.Addr) bool, asking func([]inventory.Member) bool, now time.Time) *guard.Verdict {
	if p.since.IsZero() {
		p.since = now
	}
	p.newest, p.until = v, now
	switch {
	case loses(p.published.Members, v.Members):
		if asking(v.Members) {
			p.until = p.since.Add(together)
		}
	case p.newcomer(unchecked):
		p.until = p.since.Add(p.grace)
	}
	if now.Before(p.until) {
		return nil
	}
	p.published, p.newest, p.since = v, nil, time.Time{}
	return v
}

// deadline returns when what waits is published at the latest, zero if nothing
// waits.
func (p *publisher) deadline() time.Time {
	if p.newest == nil {
		return time.Time{}
	}
	return p.until
}

// newcomer reports whether the newest verdict watches an address that the
// published one does not and that was never checked.
func (p *publisher) newcomer(unchecked func(netip.Addr) bool) bool {
	return slices.ContainsFunc(p.newest.Watch, func(w inventory.Watch) bool {
		return !watchOf(p.published.Watch, w.Address).Address.IsValid() && unchecked(w.Address)
	})
}

// loses reports whether an endpoint that traffic could reach is down or gone.
func loses(before, after []inventory.Member) bool {
	return slices.ContainsFunc(before, func(m inventory.Member) bool {
		return m.State.Serves() && !inventory.StateOf(after, m.Address).Serves()
	})
}
