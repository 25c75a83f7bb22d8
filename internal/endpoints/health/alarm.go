package health

import (
	"net/netip"
	"slices"
	"time"
)

// Alarm says that a connection was lost.
type Alarm struct {
	Address netip.Addr
	Kind    AlarmKind
	At      time.Time
}

// batch is the alarms of one moment, on which one decision is made.
type batch struct {
	alarms []Alarm
	// decided is closed when ignored is known.
	decided chan struct{}
	ignored bool
}

// raise tells the holders of a lost connection, and reports whether it was one of so
// many for one of them that they mean nothing. The first of a moment waits for the
// others and decides.
func (u *Connections) raise(g *grip, kind AlarmKind) (ignored bool) {
	u.mu.Lock()
	holders := g.holders
	batches, first := make([]*batch, len(holders)), make([]bool, len(holders))
	for i, h := range holders {
		batches[i], first[i] = h.join(Alarm{Address: g.target.Addr(), Kind: kind, At: time.Now()})
	}
	u.mu.Unlock()
	if slices.Contains(first, true) {
		<-time.After(gathering)
	}
	for i, h := range holders {
		if first[i] {
			h.decide(batches[i])
		}
	}
	for _, b := range batches {
		<-b.decided
		ignored = ignored || b.ignored
	}
	return ignored
}

// join adds an alarm to those of the moment, and reports whether it is the first.
func (h *Holder) join(a Alarm) (b *batch, first bool) {
	h.stats.Alarms[a.Kind]++
	first = h.batch == nil
	if first {
		h.batch = &batch{decided: make(chan struct{})}
	}
	h.batch.alarms = append(h.batch.alarms, a)
	return h.batch, first
}

// decide tells of the alarms of a batch, unless there are too many.
func (h *Holder) decide(b *batch) {
	h.hub.mu.Lock()
	h.batch = nil
	h.recent.add(b.alarms, time.Now().Add(-h.options.Interval))
	lost, left := h.recent.addresses(h.wanted)
	b.ignored = lost > max(1, (len(h.wanted)+left)*h.options.MaxAlarmPercent/100)
	if b.ignored {
		h.stats.Ignored += uint64(len(b.alarms))
	}
	h.hub.mu.Unlock()
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
