package health

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

const (
	// gathering is how long alarms wait for others of the same moment, by which
	// those of a whole network are known.
	gathering = 10 * time.Millisecond
	// pauseMin is the shortest pause between the loss of a connection and the next;
	// each loss soon after a connect doubles it, up to pauseMax.
	pauseMin, pauseMax = time.Second, 5 * time.Minute
	// steady is how long a connection has to last to be no sign of a peer that
	// closes idle ones.
	steady = 10 * time.Minute
	// spread is over how long the connects after a common loss are spread, and
	// those of a start that has many.
	spread = 30 * time.Second
	// perConnect is the least share of that for each connect.
	perConnect = 3 * time.Millisecond
	// dials bounds the connects at the same time.
	dials = 64
)

// ConnectionsOptions say how connections are held. MaxConnections is required.
type ConnectionsOptions struct {
	// MaxConnections bounds the connections, at least 1. Addresses beyond are not held.
	MaxConnections int
	// Dial opens a connection; a TCP dialer with keep-alives where it is nil.
	Dial func(context.Context, netip.AddrPort) (net.Conn, error)
	// Random draws the jitter of connects: at least 0 and less than 1, from any
	// goroutine. It is rand.Float64 where it is nil.
	Random func() float64
}

// Connections holds the connections of many holders: one to each address and port, however
// many of them want it.
type Connections struct {
	options ConnectionsOptions
	// wake tells Run that the addresses changed, and slots and dialing bound what
	// is open and what is being opened.
	wake           chan struct{}
	slots, dialing chan struct{}

	mu      sync.Mutex
	holders []*Holder
	grips   map[netip.AddrPort]*grip
}

// NewConnections connects to nothing.
func NewConnections(options ConnectionsOptions) *Connections {
	if options.Dial == nil {
		options.Dial = dial
	}
	if options.Random == nil {
		options.Random = rand.Float64
	}
	return &Connections{
		options: options, wake: make(chan struct{}, 1),
		slots: make(chan struct{}, options.MaxConnections), dialing: make(chan struct{}, dials),
		grips: make(map[netip.AddrPort]*grip),
	}
}

// Close ends the holder: nothing is held for it any more.
func (h *Holder) Close() {
	h.Watch(nil)
	h.hub.mu.Lock()
	defer h.hub.mu.Unlock()
	h.hub.holders = slices.DeleteFunc(h.hub.holders, func(other *Holder) bool { return other == h })
}

// Run holds what is watched until the context ends, and returns when everything is
// closed.
func (u *Connections) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	defer u.release(nil)
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.wake:
		}
		for _, g := range u.replace() {
			running.Go(func() { u.keep(ctx, g) })
		}
	}
}

// replace lets go of what is no longer wanted and returns what is to be held anew.
func (u *Connections) replace() []*grip {
	u.mu.Lock()
	wanted := make(map[netip.AddrPort][]*Holder)
	var added []*grip
	for _, h := range u.holders {
		for _, a := range h.wanted {
			target := netip.AddrPortFrom(a, h.options.Port)
			wanted[target] = append(wanted[target], h)
			if u.grips[target] == nil {
				g := &grip{target: target, timeout: h.options.Timeout, released: make(chan struct{})}
				u.grips[target] = g
				added = append(added, g)
			}
		}
	}
	for target, holders := range wanted {
		u.grips[target].serve(holders)
	}
	u.mu.Unlock()
	u.release(wanted)
	over := min(spread, time.Duration(len(added))*perConnect)
	for _, g := range added {
		g.first = time.Duration(u.options.Random() * float64(over))
	}
	return added
}

// release lets go of everything that is not among the wanted.
func (u *Connections) release(wanted map[netip.AddrPort][]*Holder) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for target, g := range u.grips {
		if len(wanted[target]) > 0 {
			continue
		}
		delete(u.grips, target)
		close(g.released)
		if g.conn != nil {
			_ = g.conn.Close()
		}
	}
}

// HolderOptions say what to hold; all are required.
type HolderOptions struct {
	// Port is the only port that is connected to.
	Port uint16
	// Timeout bounds the opening of a connection.
	Timeout time.Duration
	// Interval is the time in which alarms of more than MaxAlarmPercent of the
	// addresses change nothing: then a network died or a firewall was flushed.
	// One alarm at a time always counts.
	Interval        time.Duration
	MaxAlarmPercent int
	// Alarm is told of each lost connection that counts. It must not block, and may
	// be called by any goroutine.
	Alarm func(Alarm)
}

// Holder is what one group holds. Watch and Stats may be called at any time from any
// goroutine.
type Holder struct {
	options HolderOptions
	hub     *Connections
	// The rest is under the lock of its Connections.
	wanted []netip.Addr
	recent recentAlarms
	batch  *batch
	stats  HolderStats
}

// HolderStats is what a holder shows of itself.
type HolderStats struct {
	// Wanted addresses are to be held, Held of them are.
	Wanted, Held int
	// Alarms counts the lost connections by kind, and Ignored those of them that
	// were too many at once to mean anything.
	Alarms  [kinds]uint64
	Ignored uint64
}

// Holder returns a holder that holds nothing yet. Close ends it.
func (u *Connections) Holder(options HolderOptions) *Holder {
	h := &Holder{options: options, hub: u}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.holders = append(u.holders, h)
	return h
}

// Watch replaces the set of addresses to hold, which has to be sorted.
func (h *Holder) Watch(addresses []netip.Addr) {
	h.hub.mu.Lock()
	h.wanted, h.stats.Wanted = addresses, len(addresses)
	h.hub.mu.Unlock()
	transport.Signal(h.hub.wake)
}

// Stats returns what the holder is doing.
func (h *Holder) Stats() HolderStats {
	h.hub.mu.Lock()
	defer h.hub.mu.Unlock()
	return h.stats
}
