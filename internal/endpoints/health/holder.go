package health

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// HolderOptions say what to hold. Port, Interval, Timeout and Alarm are required.
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
	recent recent
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
func (u *Connections) Holder(options HolderOptions) (*Holder, error) {
	switch {
	case options.Port == 0:
		return nil, errors.New("held connections: no port")
	case options.Interval <= 0, options.Timeout <= 0:
		return nil, fmt.Errorf("held connections: interval %s and time-out %s have to be positive", options.Interval, options.Timeout)
	case options.Alarm == nil:
		return nil, errors.New("held connections: no receiver of alarms")
	}
	h := &Holder{options: options, hub: u}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.holders = append(u.holders, h)
	return h, nil
}

// Watch replaces the set of addresses to hold, which has to be sorted.
func (h *Holder) Watch(addresses []netip.Addr) {
	h.hub.mu.Lock()
	h.wanted, h.stats.Wanted = addresses, len(addresses)
	h.hub.mu.Unlock()
	signal(h.hub.wake)
}

// Stats returns what the holder is doing.
func (h *Holder) Stats() HolderStats {
	h.hub.mu.Lock()
	defer h.hub.mu.Unlock()
	return h.stats
}
