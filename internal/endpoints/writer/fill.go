package writer

import (
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// remembered is how long the pace of a target that is gone is remembered.
const remembered = time.Minute

// fill is the slices of one pool in one Service. It outlives its target for a while,
// so that one that comes back is not written more often for it.
type fill struct {
	Fill
	// target is nil while there is none.
	target    *Filler
	service   *service
	namespace *namespace
	// machine is nil without a target, and while a panic keeps it stopped. outbox is
	// nil where that has to be made anew.
	machine *machine
	outbox  *Outbox
	defects defects
	// works is what its slices were good for at the last event.
	works guard.WorkByFamily
	// flying is how many writes are in flight, and loading says that a load is.
	flying  int
	loading bool

	// class is the place in turns, and fresh that without what is tried again, where that is another; due and place are
	// that in the agenda.
	class, fresh int
	due          time.Time
	place        int
	// undecided, touched and unread say that it is in the loop's list of that name.
	undecided, touched, unread bool
}

// add starts a target.
func (l *loop) add(t *Filler, now time.Time) {
	for _, options := range t.opts.Fills {
		f := l.fillOf(options)
		f.Fill, f.target = options, t
		t.fills = append(t.fills, f)
		l.start(f, now)
	}
	l.targets = append(l.targets, t)
	l.undecide(t)
}

// fillOf returns the fill of those slices, which may be known from before.
func (l *loop) fillOf(options Fill) *fill {
	f := l.fills[options.key()]
	if f == nil {
		f = &fill{class: noClass}
		l.fills[options.key()] = f
	}
	if before := f.service; before == nil || before.name != options.service() {
		f.service = l.lanes.join(options)
		f.namespace = f.service.namespace
		if before != nil { // afterwards: its namespace is the same, and may have loads in flight
			l.lanes.leave(before)
		}
	}
	return f
}

// remove stops a target.
func (l *loop) remove(t *Filler, now time.Time) {
	for _, f := range t.fills {
		l.turns.remove(f)
		if f.outbox != nil {
			f.outbox.Offer(nil, nil, now)
		}
		f.target, f.machine, f.unread, f.State = nil, nil, false, nil
		l.agenda.set(f, now.Add(remembered))
	}
	l.targets = slices.DeleteFunc(l.targets, func(other *Filler) bool { return other == t })
	t.fills = nil
	t.ended()
}

// start makes the machine of a fill, or sees later where an old one has writes in
// flight that this one would not know of, or has just stopped.
func (l *loop) start(f *fill, now time.Time) {
	again := f.defects.again
	if f.outbox == nil && f.flying > 0 {
		again = later(again, now.Add(heartbeat))
	}
	if now.Before(again) {
		f.State = nil // changes are not followed until then, so the store is read again
		l.agenda.set(f, again)
		return
	}
	if f.outbox == nil {
		f.outbox = NewOutbox(&l.lanes.server, l.opts.Random)
	}
	f.machine, f.unread = newMachine(f.Fill, f.target.opts.DryRun, f.outbox, l.opts.Random), false
	l.touch(f)
}

// wake lets a fill do what it is due for.
func (l *loop) wake(f *fill, now time.Time) {
	switch {
	case f.machine != nil:
		l.handle(f, event{}, now)
	case f.target != nil:
		l.start(f, now) // it is decided when its store was read
	case f.flying > 0 || f.loading:
		l.agenda.set(f, now.Add(heartbeat))
	default:
		delete(l.fills, f.key())
		l.lanes.leave(f.service)
	}
}

// undecide notes that the newest verdicts have to reach the fills of a target.
func (l *loop) undecide(t *Filler) {
	for _, f := range t.fills {
		if !f.undecided {
			f.undecided = true
			l.undecided = append(l.undecided, f)
		}
	}
}

// decide gives a fill what its pools decided.
func (l *loop) decide(f *fill, now time.Time) {
	f.undecided = false
	if f.target == nil {
		return
	}
	if f.machine != nil {
		f.machine.start.follow(l.verdicts[f.Pool], f.machine.members)
	}
	offers := make([]offer, len(f.target.fills))
	for i, each := range f.target.fills {
		offers[i] = l.offered(each)
	}
	l.isolated(f, now, func(m *machine) {
		if chosen := choose(offers, slices.Index(f.target.fills, f)); chosen != nil {
			m.handle(event{decided: chosen}, now)
		}
	})
	l.touch(f)
}

// handle takes an event of a fill in. Where its slices are of another use than before, the
// other fills of its target are decided again.
func (l *loop) handle(f *fill, e event, now time.Time) {
	l.isolated(f, now, func(m *machine) { m.handle(e, now) })
	l.touch(f)
	if f.target == nil || len(f.target.fills) == 1 {
		return
	}
	o := l.offered(f)
	if works := o.working(); works != f.works {
		f.works = works
		l.undecide(f.target)
	}
}

// touch notes that the fill had an event.
func (l *loop) touch(f *fill) {
	if !f.touched {
		f.touched = true
		l.touched = append(l.touched, f)
	}
}

// queue gives a fill its place among those that have something to send.
func (l *loop) queue(f *fill, now time.Time) {
	class, fresh := noClass, noClass
	l.isolated(f, now, func(m *machine) {
		if class = f.classOf(m, now, true); retries(class) {
			fresh = f.classOf(m, now, false)
		}
	})
	l.turns.set(f, class, fresh)
}

// classOf returns the class of a fill, with what is tried again or without.
func (f *fill) classOf(m *machine, now time.Time, again bool) int {
	turn, found := m.outbox.Next(now, again)
	if !found {
		return noClass
	}
	if f.Phase != Serving && !m.dies { // what a hand-over takes back is no loss
		turn.Rank = Rest
	}
	return classOf(turn)
}

// take takes the next write of a fill.
func (l *loop) take(f *fill, now time.Time) (w writeRequest, ok bool) {
	l.isolated(f, now, func(m *machine) {
		w = writeRequest{target: f.target, fill: f, store: f.Store, outbox: f.outbox, service: f.service}
		w.write, ok = m.take(now)
	})
	if ok {
		f.flying++
		w.target.requests++
		l.lanes.sent(f.service)
	}
	return w, ok
}

// tell tells the observer what the events came to, and notes what the fill waits for.
func (l *loop) tell(f *fill, now time.Time) {
	l.isolated(f, now, func(m *machine) {
		if m.reader.due(now) {
			m.reader.began()
			f.unread, l.unread = true, append(l.unread, f)
		}
		o, worth := m.tell(now)
		f.observe(o, worth)
		if o.Recovered {
			l.undecide(f.target)
		}
		next := m.next(now)
		if f.class == noClass && m.outbox.Waits(now) {
			next = earliest(next, now.Add(heartbeat))
		}
		l.agenda.set(f, next)
	})
}

// observe tells an outcome that is worth it.
func (f *fill) observe(o Outcome, worth bool) {
	if worth && f.target != nil {
		f.target.opts.Observe(o)
	}
}
