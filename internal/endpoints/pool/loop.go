package pool

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
)

// loop is what Run remembers between two events. Only Run's goroutine touches it.
type loop struct {
	*Group
	checks *health.Loop
	holder *holder
	desk   *peers.Desk
	box    box

	// inventory is the newest one, which each placement is joined with.
	inventory *guard.Inventory

	intake    intake
	publisher publisher
	pace      pace
	trouble   trouble
	// watched is what the verdict wants checked, addresses are those that are.
	watched   []inventory.Watch
	addresses []netip.Addr
	// ineligible are the recovered members that are not eligible any more.
	ineligible map[netip.Addr]bool
	// verdict is the newest one, judged when it was made.
	verdict *guard.Verdict
	judged  time.Time
	// beatDue is when the next heartbeat is due, however busy the loop is. Results
	// that change no decision are taken in there.
	beatDue time.Time
	// tried is when the source was asked first.
	tried time.Time
	// outcome is the last one that was observed.
	outcome Outcome
}

// start begins with the members that are published.
func (l *loop) start(members []inventory.Member) {
	now := time.Now()
	l.judged, l.beatDue = now, now.Add(heartbeat)
	l.intake.wait = min(l.opts.HealthTimeout, firstCheck) + l.opts.grace()
	l.ineligible = ineligible(members, l.opts.Reader.opts.Rules)
	verdict := l.decide(guard.Input{Now: now, Memory: guard.Recover(members, now, l.opts.Past, l.ineligible)}, l.opts.Policy)
	l.verdict = &verdict
	l.publisher = publisher{grace: l.opts.grace(), published: l.verdict}
	l.opts.Publish(l.verdict)
	l.tell(Outcome{Recovered: &Recovery{Members: len(members), Ineligible: len(l.ineligible)}})
}

// ineligible returns the members that are not eligible today.
func ineligible(members []inventory.Member, rules filter.Rules) map[netip.Addr]bool {
	not := make(map[netip.Addr]bool)
	for _, m := range members {
		if reason, _ := rules.Check(m.Address); reason != "" {
			not[m.Address] = true
		}
	}
	return not
}

// pass is the picture of the package comment: what was read and checked becomes a
// verdict, and the targets get it before anything else happens.
func (l *loop) pass() {
	now := time.Now()
	if now.Before(l.trouble.until) {
		l.tell(Outcome{})
		return
	}
	read, checks := l.intake.take(l.uncheckedMember, now)
	verdict := l.decide(guard.Input{Now: now, Read: read, Health: checks, Memory: l.verdict.Memory}, l.opts.Policy)
	if ready := l.publisher.offer(&verdict, l.unchecked, l.holder.asking, now); ready != nil {
		l.opts.Publish(ready)
	}
	l.verdict, l.judged = &verdict, now
	l.watch()
	l.desk.Set(slices.Concat(verdict.Asks, verdict.Answered))
	l.trouble.shown = nil
	l.tell(Outcome{Passed: true})
	l.trouble = trouble{}
	l.pace.passed(now, time.Now(), l.verdict)
}

// watch tells the prober what to check, and forgets addresses that are not watched
// any more: when one comes back, an old pass must not publish it (contract 7).
func (l *loop) watch() {
	if l.opts.Policy.HealthOff {
		return
	}
	if l.watched == nil || !slices.Equal(l.watched, l.verdict.Watch) {
		l.watched = l.verdict.Watch
		targets := l.targets()
		l.addresses = make([]netip.Addr, len(targets))
		for i, w := range targets {
			l.addresses[i] = w.Address
		}
		l.checks.Watch(targets)
	}
	l.holder.watch(l.verdict.Members, l.addresses)
	l.intake.health = l.intake.health.Only(l.addresses)
}

// targets are what the prober checks. A recovered member that is not eligible any
// more is not contacted (contract 6).
func (l *loop) targets() []inventory.Watch {
	return slices.DeleteFunc(slices.Clone(l.watched), func(w inventory.Watch) bool { return l.ineligible[w.Address] })
}

// unchecked reports whether no check of the address has come back yet.
func (l *loop) unchecked(addr netip.Addr) bool {
	streak := l.intake.health.Of(addr)
	return !l.opts.Policy.HealthOff && !l.ineligible[addr] && !streak.Known() && streak.Trouble == ""
}

// uncheckedMember reports whether something that is published was never checked.
func (l *loop) uncheckedMember() bool {
	return slices.ContainsFunc(l.verdict.Members, func(m inventory.Member) bool { return l.unchecked(m.Address) })
}

// event is one thing that happened; a heartbeat is the zero event.
type event struct {
	answer  *answer
	results []inventory.Result
	// placed says that there may be another placement.
	placed bool
}

// wait returns the next event, or false when ctx has ended.
func (l *loop) wait(ctx context.Context) (event, bool) {
	timer := time.NewTimer(max(time.Nanosecond, time.Until(earlier(l.beatDue, l.wake()))))
	defer timer.Stop()
	var placed <-chan struct{}
	if l.opts.Placer != nil {
		placed = l.opts.Placer.Changed()
	}
	select {
	case <-ctx.Done():
		return event{}, false
	case a := <-l.box:
		return event{answer: &a}, true
	case <-l.checks.Ready():
		return event{results: l.checks.Take()}, true
	case <-l.desk.Ready():
		return event{results: l.desk.Take()}, true
	case <-placed:
		return event{placed: true}, true
	case <-timer.C:
		return event{placed: l.opts.Placer != nil}, true
	}
}

// wake returns when time alone calls for a pass, zero if it does not.
func (l *loop) wake() time.Time {
	if !l.trouble.until.IsZero() {
		return l.trouble.until
	}
	wake := earlier(l.verdict.Next, l.publisher.deadline())
	return earlier(earlier(wake, l.intake.deadline()), l.pace.due)
}

// absorb takes an event in, and decides where it calls for that.
func (l *loop) absorb(e event) {
	now := time.Now()
	switch {
	case e.answer != nil:
		l.read(*e.answer, now)
		return
	case e.results != nil:
		if l.results(e.results, now) {
			l.pass()
		}
		return
	case e.placed:
		l.place(now)
	}
	if wake := l.wake(); !wake.IsZero() && !now.Before(wake) {
		l.pass()
	}
	if !now.Before(l.beatDue) {
		l.beat(now)
	}
}

// read takes the answer of the source in, and decides on it unless it has to wait.
func (l *loop) read(a answer, now time.Time) {
	s := &l.outcome.Source
	s.LastAttempt, s.LastErr, s.Next = a.reading.At, a.reading.Err, a.reading.Next
	l.tried, l.outcome.Read = cmp.Or(l.tried, s.LastAttempt), &a.reading
	if a.inventory != nil {
		s.LastSuccess, s.Nodes, s.Decisions = a.at, a.inventory.Nodes, a.inventory.Decisions
		l.inventory = a.inventory
		l.join(*l.inventory, now)
		if l.intake.due(l.uncheckedMember, now) {
			l.pass()
			return
		}
	}
	l.tell(Outcome{})
}

// place takes the newest placement in, and decides on it with the newest inventory, which
// does not count as scheduled again. One that is not current any more stays (contract 236).
func (l *loop) place(now time.Time) {
	p, before := &l.outcome.Placed, l.outcome.Placed
	newest, err := l.opts.Placer.Placement()
	if p.LastErr = err; err == nil && newest != nil {
		p.Newest, p.LastSuccess, p.EveryNode = newest, now, newest.EveryNode(l.opts.Port)
	}
	if p.Newest != before.Newest && l.inventory != nil {
		again := *l.inventory
		again.Scheduled = false
		l.join(again, now)
		if l.intake.due(l.uncheckedMember, now) {
			l.pass()
			return
		}
	}
	if p.Newest != before.Newest || (err == nil) != (before.LastErr == nil) {
		l.tell(Outcome{})
	}
}

// join gives an inventory with the newest placement to be decided on, once both are there
// (contract 234).
func (l *loop) join(read guard.Inventory, now time.Time) {
	p := l.outcome.Placed
	if l.opts.Placer != nil && p.Newest == nil {
		return
	}
	if !p.EveryNode {
		read.Placement = p.Newest
	}
	l.intake.accept(&read, now)
}

// beat takes in results that change no decision, so that the status shows recent
// checks although a healthy pool makes a pass at each read only.
func (l *loop) beat(now time.Time) {
	l.beatDue = now.Add(heartbeat)
	l.intake.fold()
	refused := l.checks.Refused()
	if refused > 0 {
		l.checks.Watch(l.targets()) // there may be room by now
	}
	l.tell(Outcome{Beat: true, Overruns: l.checks.Overruns(), Refused: refused})
}

// settled reports whether the verdict waits for no further check: of an endpoint whose state is
// in question, of Fall failures where nothing passes, and of Rise passes where something drains.
// It waits no longer than all these take.
func (l *loop) settled(now time.Time) bool {
	p, s := l.opts.Policy, l.outcome.Source
	switch {
	case s.LastAttempt.IsZero(), l.intake.inventory != nil, l.publisher.newest != nil:
		return false
	case now.Sub(l.tried) >= time.Duration(max(p.Rise, p.Fall))*(p.Interval+l.opts.HealthTimeout):
		return true
	case l.opts.Placer != nil && l.outcome.Placed.Newest == nil:
		return false
	case p.HealthOff:
		return true
	}
	passes, risen, fallen := false, false, true
	for _, w := range l.verdict.Watch {
		streak := l.intake.health.Of(w.Address)
		switch {
		case l.ineligible[w.Address], !streak.Known() && streak.Trouble != "":
			continue
		case !streak.Known(), w.Urgent:
			return false
		}
		passes, fallen = passes || streak.Passes > 0, fallen && streak.Fails >= p.Fall
		risen = risen || streak.Passes >= p.Rise && inventory.StateOf(l.verdict.Members, w.Address) == inventory.StateReady
	}
	drains := slices.ContainsFunc(l.verdict.Members, func(m inventory.Member) bool { return m.State == inventory.StateDraining })
	return (passes || fallen) && (risen || !drains)
}

// tell tells the observer what an event came to.
func (l *loop) tell(o Outcome) {
	o.At, o.Verdict, o.Judged, o.Health = time.Now(), l.verdict, l.judged, l.intake.health
	o.Source, o.Placed, o.Held, o.Trouble = l.outcome.Source, l.outcome.Placed, l.holder.stats(), l.trouble.shown
	if !o.Beat {
		o.Refused = l.outcome.Refused
	}
	o.Overruns, o.Read = cmp.Or(o.Overruns, l.outcome.Overruns), cmp.Or(o.Read, l.outcome.Read)
	o.Decided = l.outcome.Decided || !o.Source.LastSuccess.IsZero() && (l.opts.Placer == nil || o.Placed.Newest != nil) || o.Recovered == nil && len(l.verdict.Members) > 0
	o.Settled = l.outcome.Settled || l.settled(o.At)
	l.outcome = o
	l.opts.Observe(o)
	l.outcome.Read = nil
	if l.desk.Compares() {
		l.desk.Reaches(l.passing())
	}
}

// passing are the published addresses whose checks pass.
func (l *loop) passing() []netip.Addr {
	var passing []netip.Addr
	for _, m := range l.verdict.Members {
		if m.State.Serves() && l.intake.health.Of(m.Address).Passes > 0 {
			passing = append(passing, m.Address)
		}
	}
	return passing
}
