package assign

import (
	"fmt"
	"iter"
	"net/netip"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// Health is what the checks of a group say.
type Health struct {
	// Checked says that every endpoint was checked.
	Checked bool
	// Passing are the endpoints that stay and pass, Serving those that stay and pass or may:
	// those of which the checks say nothing are taken for working when they are to go.
	Passing, Serving iter.Seq[netip.Addr]
}

// Count is how many endpoints of each family there are.
type Count struct{ IPv4, IPv6 int }

// covers reports whether there are as many in each family, and one at least.
func (c Count) covers(need Count) bool {
	return c.IPv4 >= need.IPv4 && c.IPv6 >= need.IPv6 && c.IPv4+c.IPv6 > 0
}

// String returns the numbers of the families that there are.
func (c Count) String() string {
	switch {
	case c.IPv6 == 0:
		return fmt.Sprint(c.IPv4)
	case c.IPv4 == 0:
		return fmt.Sprintf("%d IPv6", c.IPv6)
	}
	return fmt.Sprintf("%d IPv4 and %d IPv6", c.IPv4, c.IPv6)
}

// tally counts the endpoints of several uses. One that several have, as while a pool is split or
// renamed, counts once.
type tally struct {
	Count
	// seen is nil where there is one use, which has each address once.
	seen map[netip.AddrPort]struct{}
}

func newTally(uses int) *tally {
	if uses < 2 {
		return &tally{}
	}
	return &tally{seen: make(map[netip.AddrPort]struct{})}
}

// add counts what one use has. The same address with another port is another endpoint.
func (t *tally) add(ports []publish.Port, all iter.Seq[netip.Addr]) {
	if all == nil {
		return
	}
	var port uint16
	if len(ports) > 0 {
		port = ports[0].Number
	}
	for addr := range all {
		at := netip.AddrPortFrom(addr, port)
		if _, twice := t.seen[at]; twice {
			continue
		}
		if t.seen != nil {
			t.seen[at] = struct{}{}
		}
		if addr.Is4() {
			t.IPv4++
		} else {
			t.IPv6++
		}
	}
}

// countOf counts what several uses with the same ports have.
func countOf(all ...iter.Seq[netip.Addr]) Count {
	t := newTally(len(all))
	for _, one := range all {
		t.add(nil, one)
	}
	return t.Count
}
