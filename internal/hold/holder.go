package hold

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Options say what to hold. Port, Interval, Timeout, MaxConnections and Alarm are
// required.
type Options struct {
	// Port is the only port that is connected to.
	Port uint16
	// Timeout bounds the opening of a connection.
	Timeout time.Duration
	// Interval is the time in which alarms of more than MaxAlarmPercent of the
	// addresses change nothing: then a network died or a firewall was flushed.
	// One alarm at a time always counts.
	Interval        time.Duration
	MaxAlarmPercent int
	// MaxConnections bounds the connections. Addresses beyond are not held.
	MaxConnections int
	// Alarm is told of each lost connection that counts. It must not block, and may
	// be called by any goroutine.
	Alarm func(Alarm)
	// Dial opens a connection; a TCP dialer with keep-alives where it is nil.
	Dial func(context.Context, netip.AddrPort) (net.Conn, error)
	// Random draws the jitter of connects: at least 0 and less than 1, from any
	// goroutine. It is rand.Float64 where it is nil.
	Random func() float64
}

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

// Holder holds connections. Watch and Stats may be called at any time from any
// goroutine; only Run blocks.
type Holder struct {
	options Options
	// wake tells Run that the addresses changed, and slots and dialing bound what
	// is open and what is being opened.
	wake           chan struct{}
	slots, dialing chan struct{}

	mu     sync.Mutex
	wanted []netip.Addr
	grips  map[netip.Addr]*grip
	recent recent
	batch  *batch
	stats  Stats
}

// Stats is what a holder shows of itself.
type Stats struct {
	// Wanted addresses are to be held, Held of them are.
	Wanted, Held int
	// Alarms counts the lost connections by kind, and Ignored those of them that
	// were too many at once to mean anything.
	Alarms  [kinds]uint64
	Ignored uint64
}

// New checks the options. It connects to nothing.
func New(options Options) (*Holder, error) {
	switch {
	case options.Port == 0:
		return nil, errors.New("held connections: no port")
	case options.Interval <= 0, options.Timeout <= 0:
		return nil, fmt.Errorf("held connections: interval %s and time-out %s have to be positive", options.Interval, options.Timeout)
	case options.MaxConnections < 1:
		return nil, fmt.Errorf("held connections: at most %d connections leave none to hold", options.MaxConnections)
	case options.Alarm == nil:
		return nil, errors.New("held connections: no receiver of alarms")
	}
	if options.Dial == nil {
		options.Dial = dial
	}
	if options.Random == nil {
		options.Random = rand.Float64
	}
	return &Holder{
		options: options, wake: make(chan struct{}, 1),
		slots: make(chan struct{}, options.MaxConnections), dialing: make(chan struct{}, dials),
		grips: make(map[netip.Addr]*grip),
	}, nil
}

// Watch replaces the set of addresses to hold, which has to be sorted.
func (h *Holder) Watch(addresses []netip.Addr) {
	h.mu.Lock()
	h.wanted, h.stats.Wanted = addresses, len(addresses)
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Stats returns what the holder is doing.
func (h *Holder) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stats
}

// Run holds what is watched until the context ends, and returns when everything is
// closed.
func (h *Holder) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	defer h.release(nil)
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		for _, g := range h.replace() {
			running.Go(func() { h.keep(ctx, g) })
		}
	}
}

// replace lets go of what is no longer wanted and returns what is to be held anew.
func (h *Holder) replace() []*grip {
	h.mu.Lock()
	wanted := make(map[netip.Addr]bool, len(h.wanted))
	var added []*grip
	for _, a := range h.wanted {
		wanted[a] = true
		if h.grips[a] == nil {
			g := &grip{address: a, released: make(chan struct{})}
			h.grips[a] = g
			added = append(added, g)
		}
	}
	h.mu.Unlock()
	h.release(wanted)
	over := min(spread, time.Duration(len(added))*perConnect)
	for _, g := range added {
		g.first = time.Duration(h.options.Random() * float64(over))
	}
	return added
}

// release lets go of everything that is not among the wanted.
func (h *Holder) release(wanted map[netip.Addr]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for a, g := range h.grips {
		if !wanted[a] {
			delete(h.grips, a)
			close(g.released)
			if g.conn != nil {
				_ = g.conn.Close()
			}
		}
	}
}
