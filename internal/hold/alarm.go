package hold

import (
	"net/netip"
	"slices"
	"time"
)

// Alarm says that a connection was lost.
type Alarm struct {
	Address netip.Addr
	Kind    Kind
	At      time.Time
}

// batch is the alarms of one moment, on which one decision is made.
type batch struct {
	alarms []Alarm
	// decided is closed when ignored is known.
	decided chan struct{}
	ignored bool
}

// raise tells of a lost connection, and reports whether it was one of so many that
// they mean nothing. The first of a moment waits for the others and decides.
func (h *Holder) raise(g *grip, kind Kind) (ignored bool) {
	h.mu.Lock()
	h.stats.Alarms[kind]++
	b := h.batch
	first := b == nil
	if first {
		b = &batch{decided: make(chan struct{})}
		h.batch = b
	}
	b.alarms = append(b.alarms, Alarm{Address: g.address, Kind: kind, At: time.Now()})
	h.mu.Unlock()
	if !first {
		<-b.decided
		return b.ignored
	}
	<-time.After(gathering)
	h.decide(b)
	return b.ignored
}

// decide tells of the alarms of a batch, unless there are too many.
func (h *Holder) decide(b *batch) {
	h.mu.Lock()
	h.batch = nil
	h.recent.add(b.alarms, time.Now().Add(-h.options.Interval))
	lost, left := h.recent.addresses(h.wanted)
	b.ignored = lost > max(1, (len(h.wanted)+left)*h.options.MaxAlarmPercent/100)
	if b.ignored {
		h.stats.Ignored += uint64(len(b.alarms))
	}
	h.mu.Unlock()
	close(b.decided)
	if b.ignored {
		return
	}
	for _, a := range b.alarms {
		h.options.Alarm(a)
	}
}

// recent are the alarms of the last interval, oldest first.
type recent []Alarm

// add notes alarms and forgets those before a time.
func (r *recent) add(alarms []Alarm, since time.Time) {
	for len(*r) > 0 && (*r)[0].At.Before(since) {
		*r = (*r)[1:]
	}
	*r = append(*r, alarms...)
}

// addresses returns of how many addresses they are, and how many of those are no
// longer wanted: an endpoint that was taken down since was held in that interval.
func (r recent) addresses(wanted []netip.Addr) (lost, left int) {
	distinct := make(map[netip.Addr]bool, len(r))
	for _, a := range r {
		if !distinct[a.Address] {
			distinct[a.Address] = true
			if _, ok := slices.BinarySearchFunc(wanted, a.Address, netip.Addr.Compare); !ok {
				left++
			}
		}
	}
	return len(distinct), left
}
