package guard

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Silence takes a published endpoint down only if no replica reaches it (contract 239). Another
// replica that connects holds an endpoint where it is, and nothing else: it lets none join,
// return, replace or hand over (contract 240).

// elsewhere reports whether another replica has answered the silence of now with a connection.
func (r *row) elsewhere() bool { return r.silent() && r.streak.Unconnected.Elsewhere > 0 }

// unreached reports whether the newest check of a published endpoint that is not down got no
// connection. Other replicas are asked about it, unless they have answered this failure.
func (r *row) unreached() bool { return r.next.Serves() && r.streak.Last.NoConnection }

// awaitsAnswer reports whether the only failure that counts, which may be enough to take the
// address down, is so new that an answer of another replica may still come.
func (r *row) awaitsAnswer(w *world) bool {
	return r.fails() == 1 && r.streak.Last.NoConnection && r.was.State.Serves() && w.now.Before(r.answerEnd(w))
}

// answerEnd returns until when an answer to the newest failure is waited for.
func (r *row) answerEnd(w *world) time.Time {
	return r.streak.Last.At.Add(r.streak.Last.Latency + w.policy.AnswerWait)
}

// failedAt returns when the first failure was sent that counts, zero where none does; the newest
// where another replica has answered the first one, but not all, so that no answer is too old.
func (r *row) failedAt() time.Time {
	switch {
	case r.fails() == 0:
		return time.Time{}
	case r.was.failedAt.IsZero(), r.turned(), !r.streak.Unconnected.Answered.Before(r.was.failedAt):
		return r.streak.Last.At
	}
	return r.was.failedAt
}

// assessCutOff says what silence means while the prober is presumed cut off. Where another replica
// answers, an address goes down after Fall failures if since the first of them that replica missed
// it, and all others have answered. Until then, and where no replica answers, it stays.
func (r *row) assessCutOff(w *world) condition {
	switch {
	case r.fails() == 0, !w.answered.lately(w):
		return uncounted
	case r.fails() >= w.policy.Fall && !r.streak.Unconnected.Missed.Before(r.failedAt()) && w.answered.allOthersSince(r, w):
		return failing
	}
	return belowFall
}

// waitsForOthers reports whether only the answers about others keep the address up, so that more
// checks of it tell nothing.
func (r *row) waitsForOthers(w *world) bool {
	return w.cutOff && r.silent() && r.fails() >= w.policy.Fall
}

// answers is which members have answered, here or elsewhere.
type answers struct {
	count int
	// first and second are the two that answered the longest ago, by when the answered check was
	// sent: zero where one never did. of is whose is first.
	first, second time.Time
	of            *inventory.Streak
	// last is the newest answer of another replica.
	last time.Time
}

// asked reports whether the address is among those of which a replica that is asked may miss one:
// it is not down, or went down lately. A standby that loses one after the other takes down one.
func (r *row) asked(w *world) bool {
	lately := r.isMember() && r.silent() && w.now.Sub(r.was.since) <= w.policy.checks()
	return (r.was.State.Serves() || lately) && !r.longSilent && !r.was.forbidden
}

func answeredOf(rows []row, w *world) (a answers) {
	for i := range rows {
		r := &rows[i]
		if !r.asked(w) {
			continue
		}
		at := r.streak.Last.At
		if r.silent() {
			if at = r.streak.Unconnected.Answered; at.After(a.last) {
				a.last = at
			}
		}
		switch a.count++; {
		case a.count == 1 || at.Before(a.first):
			a.first, a.second, a.of = at, a.first, r.streak
		case a.count == 2 || at.Before(a.second):
			a.second = at
		}
	}
	return a
}

// lately reports whether another replica has answered a check of the last Fall intervals. A check
// takes one at most.
func (a answers) lately(w *world) bool {
	return !a.last.IsZero() && w.now.Sub(a.last) <= w.policy.checks()+w.policy.Interval
}

// allOthersSince reports whether all other members, one at least, have answered checks that were
// sent after the first failure of this one.
func (a answers) allOthersSince(r *row, w *world) bool {
	others, least := a.count, a.first
	if r.asked(w) {
		others--
	}
	if a.of == r.streak {
		least = a.second
	}
	return others > 0 && least.After(r.failedAt())
}
