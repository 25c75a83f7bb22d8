package pool

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// HoldCounts is what held connections came to.
type HoldCounts struct {
	health.HolderStats
	// Confirmed counts the alarms after which a check failed.
	Confirmed uint64
}

// holder is the part of health.Holder that the pool uses, and what became of its
// alarms; without held connections it does nothing.
type holder struct {
	held    *health.Holder
	watched []netip.Addr

	mu sync.Mutex
	// alarms are those that no check has answered by a pass.
	alarms    map[netip.Addr]alarm
	confirmed uint64
}

// alarm is a lost connection, and failed when the first check was sent that failed
// after it.
type alarm struct {
	health.Alarm
	failed time.Time
}

// newHolder makes the holder; what it tells goes to the checks.
func (o GroupOptions) newHolder(checks *health.Loop) *holder {
	h := &holder{alarms: make(map[netip.Addr]alarm)}
	if o.HoldPort == 0 || o.Policy.HealthOff {
		return h
	}
	h.held = o.HoldHub.Holder(health.HolderOptions{
		Port: o.HoldPort, Timeout: o.HealthTimeout,
		Interval: o.Policy.Interval, MaxAlarmPercent: o.Policy.MaxSilentPercent,
		Alarm: func(a health.Alarm) {
			h.note(a)
			checks.Alarm(a.Address, o.Policy.Fall)
		},
	})
	return h
}

// close ends what is held; h may be nil.
func (h *holder) close() {
	if h != nil && h.held != nil {
		h.held.Close()
	}
}

// watch holds the endpoints that serve, and forgets the alarms of addresses that
// are checked no longer.
func (h *holder) watch(members []inventory.Member, checked []netip.Addr) {
	if h.held == nil {
		return
	}
	var serving []netip.Addr
	for _, m := range members {
		if _, ok := slices.BinarySearchFunc(checked, m.Address, netip.Addr.Compare); ok && m.State.Serves() {
			serving = append(serving, m.Address)
		}
	}
	if !slices.Equal(serving, h.watched) {
		h.watched = serving
		h.held.Watch(serving)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for a := range h.alarms {
		if _, ok := slices.BinarySearchFunc(checked, a, netip.Addr.Compare); !ok {
			delete(h.alarms, a)
		}
	}
}

func (h *holder) note(a health.Alarm) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alarms[a.Address] = alarm{Alarm: a}
}

// answer compares results with the alarms: a failure says what it began with.
func (h *holder) answer(results []inventory.Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.alarms) == 0 {
		return
	}
	for i := range results {
		r := &results[i]
		a, ok := h.alarms[r.Address]
		switch {
		case !ok || r.At.Before(a.At) || r.Outcome == inventory.LocalError || r.Outcome == inventory.Elsewhere:
			continue
		case r.Outcome == inventory.Pass:
			delete(h.alarms, r.Address)
			continue
		case a.failed.IsZero():
			a.failed = r.At
			h.alarms[r.Address] = a
			h.confirmed++
		}
		r.Message += fmt.Sprintf("; %s %s before the first failed check", lost(a.Kind), a.failed.Sub(a.At).Round(time.Millisecond))
	}
}

// lost says how a connection was lost.
func lost(kind health.AlarmKind) string {
	if kind == health.Unanswered {
		return "the held connection was not answered"
	}
	return "the held connection was " + kind.String() + " by the peer"
}

// asking reports whether endpoints that serve have failed after an alarm, but not
// often enough yet to go down.
func (h *holder) asking(members []inventory.Member) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for a, alarm := range h.alarms {
		if !alarm.failed.IsZero() && inventory.StateOf(members, a).Serves() {
			return true
		}
	}
	return false
}

// stats returns what held connections came to.
func (h *holder) stats() HoldCounts {
	if h.held == nil {
		return HoldCounts{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return HoldCounts{HolderStats: h.held.Stats(), Confirmed: h.confirmed}
}
