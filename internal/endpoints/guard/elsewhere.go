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

// asks reports whether other replicas are asked about the address: its newest failure had no
// connection and has no answer.
func (r *row) asks() bool {
	u := r.streak.Unconnected
	return r.next.Serves() && r.streak.Last.NoConnection && u.Failures > u.Elsewhere
}

// awaitsAnswer reports whether the only failure that counts, which may be enough to take the
// address down, is so new that an answer of another replica may still come.
func (r *row) awaitsAnswer(w *world) bool {
	return r.fails() == 1 && r.streak.Last.NoConnection && r.was.State.Serves() && w.now.Before(r.answerEnd(w))
}

// answerEnd returns until when an answer to the newest failure is waited for.
func (r *row) answerEnd(w *world) time.Time {
	return r.streak.Last.At.Add(r.streak.Last.Latency + w.policy.AnswerWait)
}

// failedAt returns when the first failure was sent that counts, zero where none does.
func (r *row) failedAt() time.Time {
	switch {
	case r.fails() == 0:
		return time.Time{}
	case r.was.failedAt.IsZero() || r.turned():
		return r.streak.Last.At
	}
	return r.was.failedAt
}

// assessCutOff says what silence means while the prober is presumed cut off. Where another replica
// answers, an address goes down after Fall failures if since the first of them that replica missed
// it, and reached all other silent ones. Until then, and where nobody answers, it stays.
func (r *row) assessCutOff(w *world) condition {
	switch {
	case r.fails() == 0, !w.answered.lately(w):
		return uncounted
	case r.fails() >= w.policy.Fall && !r.streak.Unconnected.Missed.Before(r.failedAt()) && w.answered.allOthersSince(r):
		return failing
	}
	return belowFall
}

// waitsForOthers reports whether only the answers about others keep the address up, so that more
// checks of it tell nothing.
func (r *row) waitsForOthers(w *world) bool {
	return w.cutOff && r.silent() && r.fails() >= w.policy.Fall
}

// answered is what other replicas reach of the silent members that are not down.
type answered struct {
	// count is how many silent members there are.
	count int
	// first and second are the two that were answered the longest ago, by when the answered
	// check was sent: zero where one was not answered. of is whose is first.
	first, second time.Time
	of            *inventory.Streak
	// last is the newest answer.
	last time.Time
}

// silentlyServes reports whether the address is among the silent ones of which others may be
// answered.
func (r *row) silentlyServes() bool { return r.was.State.Serves() && r.silent() && !r.longSilent }

func answeredOf(rows []row) (a answered) {
	for i := range rows {
		r := &rows[i]
		if !r.silentlyServes() {
			continue
		}
		at := r.streak.Unconnected.Answered
		switch a.count++; {
		case a.count == 1 || at.Before(a.first):
			a.first, a.second, a.of = at, a.first, r.streak
		case a.count == 2 || at.Before(a.second):
			a.second = at
		}
		if at.After(a.last) {
			a.last = at
		}
	}
	return a
}

// lately reports whether another replica has answered a check of the last Fall intervals. A check
// takes one at most.
func (a answered) lately(w *world) bool {
	return !a.last.IsZero() && w.now.Sub(a.last) <= w.policy.checks()+w.policy.Interval
}

// allOthersSince reports whether all other silent members, one at least, were answered for checks
// that were sent after the first failure of this one.
func (a answered) allOthersSince(r *row) bool {
	others, least := a.count, a.first
	if r.silentlyServes() {
		others--
	}
	if a.of == r.streak {
		least = a.second
	}
	return others > 0 && least.After(r.failedAt())
}
