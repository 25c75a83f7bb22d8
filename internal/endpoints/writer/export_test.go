package writer

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// Machine is the state of one fill; see machine.
type Machine struct{ m *machine }

// NewMachine returns one that starts from the fill's state, or with a load.
func NewMachine(f Fill, dryRun bool, random func() float64) Machine {
	return Machine{newMachine(f, dryRun, NewOutbox(&Server{Lanes: Lanes}, random), random)}
}

// Decide takes what the pools decided.
func (m Machine) Decide(members []inventory.Member, now time.Time) {
	m.m.handle(event{decided: &decision{members: members}}, now)
}

// Changed says that the store may have changed, Tick that time went by.
func (m Machine) Changed(now time.Time) { m.m.handle(event{changed: true}, now) }

// Tick says that time went by.
func (m Machine) Tick(now time.Time) { m.m.handle(event{}, now) }

// Load reports whether the store is to be read; then that has begun.
func (m Machine) Load(now time.Time) bool {
	due := m.m.reader.due(now)
	if due {
		m.m.reader.began()
	}
	return due
}

// Loaded takes in what the store holds.
func (m Machine) Loaded(state publish.State, err error, now time.Time) {
	m.m.handle(event{loaded: &loadResult{state, err, m.m.outbox.Ended()}}, now)
}

// Take returns the write that goes out now, and Report takes in what came of it.
func (m Machine) Take(now time.Time) (publish.Write, bool) {
	return m.m.take(now)
}

// Report takes in what came of a write.
func (m Machine) Report(r Result, now time.Time) { m.m.handle(event{report: &r}, now) }

// Turn, Tell and Next are the machine's.
func (m Machine) Turn(now time.Time) (Turn, bool) { return m.m.outbox.Next(now, true) }

// Tell is the machine's.
func (m Machine) Tell(now time.Time) (Outcome, bool) { return m.m.tell(now) }

// Next is the machine's.
func (m Machine) Next(now time.Time) time.Time { return m.m.next(now) }

// Touched is how many fills a turn has to tell of after so many events of one.
func Touched(events int) int {
	l, f := newLoop(&Set{}), &fill{class: noClass}
	for range events {
		l.handle(f, event{changed: true}, time.Now())
	}
	return len(l.touched)
}

// Takes reports whether a store of a slow namespace, and one of another, may be read while so many
// of slow namespaces are.
func Takes(slow int) (slowOne, other bool) {
	k := newLanes(1).loads
	for range slow {
		k.began(&usage{slow: true})
	}
	return k.takes(usage{slow: true}), k.takes(usage{})
}
