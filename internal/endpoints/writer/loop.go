package writer

import (
	"context"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// loop is what Run remembers between two events. Only Run's goroutine touches it.
type loop struct {
	*Set
	// fills are all that are there, or were a while ago.
	fills map[string]*fill
	// targets are those that are there, in the order in which they came, so that the same
	// events have the same effects.
	targets []*Filler
	// verdicts are the newest ones of the pools.
	verdicts map[string]*guard.Verdict

	lanes  lanes
	bucket bucket
	turns  turns
	agenda agenda
	// undecided are the fills that the newest verdicts did not reach yet, touched those
	// that had an event in this turn, unread those that wait for a load.
	undecided, touched, unread []*fill

	writes  chan writeRequest
	written chan writeRequest
	reads   chan load
	read    chan load
	// atOnce is closed.
	atOnce chan time.Time
}

// writeRequest is a request on its way to the store and back.
type writeRequest struct {
	target  *Filler
	fill    *fill
	store   Store
	outbox  *Outbox
	service *service
	write   publish.Write
	result  Result
}

// load is a load on its way to the store and back.
type load struct {
	target  *Filler
	fill    *fill
	machine *machine
	store   Store
	began   time.Time
	loaded  loadResult
}

// newLoop starts without targets.
func newLoop(s *Set) *loop {
	atOnce := make(chan time.Time)
	close(atOnce)
	return &loop{
		Set: s, atOnce: atOnce, fills: make(map[string]*fill), verdicts: make(map[string]*guard.Verdict),
		lanes: newLanes(s.opts.Lanes), bucket: rateOf(s.opts.Rate),
		writes: make(chan writeRequest, s.opts.Lanes), written: make(chan writeRequest, s.opts.Lanes),
		reads: make(chan load, loaders), read: make(chan load, loaders),
	}
}

// window is for how long the bucket of all targets saves what it may spend.
const window = 10 * time.Second

// rateOf returns the bucket of all targets together, which is full.
func rateOf(perSecond int) bucket {
	if perSecond == 0 {
		return bucket{}
	}
	return bucket{interval: time.Second / time.Duration(perSecond), window: window}
}

// writer carries out one write after the other.
func (l *loop) writer(ctx context.Context) {
	for w := range l.writes {
		w.result = Write(ctx, w.store, w.write)
		l.written <- w // there is room for each writer's
	}
}

// reader loads one state after the other.
func (l *loop) reader(ctx context.Context) {
	for r := range l.reads {
		r.loaded.state, r.loaded.err = Load(ctx, r.store)
		l.read <- r // there is room for each reader's
	}
}

// wait takes in what happens next. While fills wait for their verdicts it does not
// wait.
func (l *loop) wait(ctx context.Context) {
	l.inbox.rest(len(l.undecided)+len(l.unread)+l.lanes.writes.flying+l.lanes.loads.flying == 0 && (len(l.turns.waiting) == 0 || !l.lanes.server.Takes(time.Now())))
	var due <-chan time.Time
	if len(l.undecided) == 0 {
		timer := time.NewTimer(l.pause(time.Now()))
		defer timer.Stop()
		due = timer.C
	} else {
		due = l.atOnce
	}
	select {
	case <-ctx.Done():
	case w := <-l.written:
		l.report(w, time.Now())
	case r := <-l.read:
		l.loaded(r, time.Now())
	case <-l.inbox.filled:
		l.absorb(l.inbox.take(), time.Now())
	case <-due:
	}
}

// pause is how long nothing is to be done if nothing happens.
func (l *loop) pause(now time.Time) time.Duration {
	next := earliest(now.Add(heartbeat), l.agenda.next())
	if len(l.turns.waiting) > 0 {
		next = earliest(next, l.lanes.server.Wake(now))
		if at := l.bucket.next(); at.After(now) {
			next = earliest(next, at)
		}
	}
	return max(next.Sub(now), time.Nanosecond)
}

// turn lets each fill that something happened to decide, sends what is most urgent, and
// tells. Of many fills that a verdict concerns it takes one, so that the writers need not
// wait for all.
func (l *loop) turn(now time.Time) {
	if len(l.undecided) > 0 {
		f := l.undecided[0]
		l.undecided[0], l.undecided = nil, l.undecided[1:]
		if f.undecided {
			l.decide(f, now)
		}
	}
	for f := l.agenda.pop(now); f != nil; f = l.agenda.pop(now) {
		l.wake(f, now)
	}
	l.settle(now)
}

// absorb takes in what came from outside.
func (l *loop) absorb(n news, now time.Time) {
	for _, m := range n.moves {
		if m.gone {
			l.remove(m.target, now)
		} else {
			l.add(m.target, now)
		}
	}
	for pool, v := range n.verdicts {
		if l.verdicts[pool] = v; v == nil {
			delete(l.verdicts, pool)
		}
	}
	for _, t := range l.targets {
		phases, moved := n.phases[t]
		for i, f := range t.fills {
			if moved {
				f.Phase = phases[i]
			}
			if _, decided := n.verdicts[f.Pool]; decided || moved {
				l.undecide(t)
			}
			if n.changed[t] {
				l.handle(f, event{changed: true}, now)
			}
		}
	}
}

// report takes in what came of a write, also of one whose target is gone.
func (l *loop) report(w writeRequest, now time.Time) {
	f := w.fill
	w.target.ended()
	l.lanes.ended(w.service, now.Sub(w.result.Sent))
	f.flying--
	if f.machine != nil && f.outbox == w.outbox {
		l.handle(f, event{report: &w.result}, now)
	} else { // the target is gone, or a panic made the outbox a stranger
		survive(func() { w.outbox.Report(w.result, now) })
	}
}

// loaded takes in what the store holds.
func (l *loop) loaded(r load, now time.Time) {
	r.target.ended()
	r.fill.loading = false
	l.lanes.loads.ended(&r.fill.namespace.loads, r.loaded.err != nil || now.Sub(r.began) >= slowAfter)
	if r.fill.machine == r.machine {
		l.handle(r.fill, event{loaded: &r.loaded}, now)
	}
}

// settle lets the fills that had an event queue up, sends, and tells what came of it.
func (l *loop) settle(now time.Time) {
	for _, f := range l.touched {
		l.queue(f, now)
	}
	l.send(now)
	for i := 0; i < len(l.touched); i++ { // sending and telling may add to them
		f := l.touched[i]
		f.touched = false
		l.tell(f, now)
	}
	clear(l.touched)
	l.touched = l.touched[:0]
	l.load(now)
}

// send gives the most urgent writes to the writers that are free.
func (l *loop) send(now time.Time) {
	allowed := func(f *fill, class int) bool {
		return (class < classOf(Turn{Rank: Gain}) || !l.bucket.next().After(now)) && l.lanes.takesWrite(f)
	}
	for l.lanes.server.Free(now) {
		l.turns.probes = l.lanes.server.outage.lasts(now)
		f, class := l.turns.take(l.lanes.server.TakesRetries(), allowed)
		if f == nil {
			return
		}
		l.touch(f)
		if f.undecided { // nothing is sent that a newer verdict may have undone
			l.decide(f, now)
			l.queue(f, now)
			continue
		}
		w, ok := l.take(f, now)
		if !ok {
			continue // tell makes it due again
		}
		if class >= classOf(Turn{Rank: Gain}) {
			l.bucket.take(now)
		}
		l.writes <- w // there is room: no more are taken than there are writers
		l.queue(f, now)
	}
}

// load starts loads while readers are free.
func (l *loop) load(now time.Time) {
	for i := 0; i < len(l.unread) && l.lanes.loads.flying < loaders; {
		f := l.unread[i]
		if f.machine != nil && f.unread && (f.loading || !l.lanes.takesLoad(f.namespace)) {
			i++
			continue
		}
		l.unread = slices.Delete(l.unread, i, i+1)
		if f.machine == nil || !f.unread {
			continue
		}
		f.unread, f.loading = false, true
		f.target.requests++
		l.lanes.loads.began(&f.namespace.loads)
		l.reads <- load{target: f.target, fill: f, machine: f.machine, store: f.Store, began: now, loaded: loadResult{ended: f.outbox.Ended()}}
	}
}

// finish waits for the writes under way, at most WriteTimeout, and reports them.
func (l *loop) finish() {
	for l.lanes.writes.flying > 0 {
		l.report(<-l.written, time.Now())
	}
	for _, f := range l.fills {
		l.isolated(f, time.Now(), func(m *machine) { f.observe(m.finish(time.Now())) })
	}
}
