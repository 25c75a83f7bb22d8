package guard

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// ruling is what was decided of one family: a verdict, without its memory.
type ruling struct {
	Verdict
	pool pool
	part part
}

// judge decides the state of every member and candidate of one family. counts
// says that a scheduled inventory was rejected just now: only then the count of
// those moves on that take an endpoint away.
func judge(p pool, health inventory.Health, now time.Time, policy Policy, counts bool) ruling {
	rows := join(p, health)
	for i := range rows {
		p.proven = p.proven || rows[i].streak.Passes > 0 || rows[i].streak.Turns > 0 || rows[i].streak.Unconnected.Elsewhere > 0
	}
	w := newWorld(p, rows, now, policy)
	for i := range rows {
		rows[i].next = rows[i].decide(w)
	}
	weigh(rows, w)
	readyDraining(p, rows, w)
	w.nonePassed = !w.mayDemote && (allFail(rows, policy) || w.checked() && someFailed(rows, policy))
	failOpen(rows, w)
	w.accepts = counts && p.proven && !w.cutOff && !w.failOpen || counts && policy.HealthOff
	outcome := accept(rows, w, counts)
	return rule(p, rows, w, outcome)
}

// rule makes the ruling: the members for the next time, and what to say.
func rule(p pool, rows []row, w *world, outcome acceptance) ruling {
	r := ruling{pool: p, Verdict: Verdict{Accepted: outcome.addresses, Removal: outcome.removal}}
	r.AcceptedMessage = outcome.message(w)
	r.pool.failOpen, r.pool.nothingSince = w.failOpen, w.nothingSince
	r.pool.readyDraining, r.pool.drainingShown = w.readyDraining, w.drainingShown
	r.Members, r.pool.members = make([]inventory.Member, 0, len(rows)), make([]*member, 0, len(rows))
	r.Watch = make([]inventory.Watch, 0, len(rows))
	r.Decisions = make([]inventory.Decision, 0, len(rows))
	if over := w.nothingSince.Add(w.policy.checks()); w.waits && over.After(w.now) {
		r.Next = over
	}
	if w.cutOff {
		r.Next = sooner(r.Next, w.silenceOver)
	}
	for i := range rows {
		r.take(&rows[i], &p, w)
	}
	r.Mode, r.Cause, r.Message = mode(p, rows, w, outcome)
	r.part = newPart(rows, w, r.Members)
	return r
}

// ask adds an address that this process does not reach.
func (r *ruling) ask(row *row, w *world) {
	list := &r.Asks
	if row.streak.Unconnected.Failures <= row.streak.Unconnected.Elsewhere {
		list = &r.Answered
	}
	if len(*list) < MaxAsks {
		*list = append(*list, Ask{Address: row.address, At: row.streak.Last.At, Failures: row.streak.Unconnected.Failures, Urgent: row.urgent(w)})
	}
}

// take adds what was decided of one address.
func (r *ruling) take(row *row, p *pool, w *world) {
	if row.next != inventory.Absent {
		next := row.remember(w)
		r.Members, r.pool.members = append(r.Members, next.Member), append(r.pool.members, shared(row.was, &next))
	}
	if row.watched() {
		r.Watch = append(r.Watch, inventory.Watch{Address: row.address, Urgent: row.urgent(w)})
		if row.unchecked(w) {
			r.Unchecked++
		}
	}
	if row.unreached() {
		r.ask(row, w)
	}
	d := row.decision(p, w)
	if r.Decisions = append(r.Decisions, d); d.Reason == inventory.ReadyElsewhere {
		r.Elsewhere, r.Replica = r.Elsewhere+1, row.streak.Unconnected.Replica
	}
	r.Next = sooner(r.Next, row.changes(w))
}
