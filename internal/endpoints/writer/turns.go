package writer

import (
	"slices"
	"time"
)

// turns says which fill sends next: losses go before additions, these before the
// rest, and in each class the namespaces take turns. A namespace's fills take turns
// as well.
type turns struct {
	// waiting are the fills that have something to send, in the order in which they came.
	waiting []*fill
	// taken counts the turns.
	taken int
	// probes says that one request is to show whether the server can be reached again: then the
	// namespaces take turns whatever the class, for what fails may concern one of them alone.
	probes bool
}

const (
	// noClass is the class of a fill that has nothing to send.
	noClass = -1
	// classes is how many there are.
	classes = 2 * (Rest + 1)
)

// classOf returns the place of a turn: what is tried again comes after what is as
// urgent.
func classOf(t Turn) int {
	class := 2 * int(t.Rank)
	if t.Retry {
		class++
	}
	return class
}

// retries reports whether fills of the class only try again what failed.
func retries(class int) bool { return class%2 == 1 }

// set notes the class of a fill, and the one that it has while nothing is tried again. In the
// class that it has it keeps its place.
func (t *turns) set(f *fill, class, fresh int) {
	f.fresh = fresh
	if f.class == class {
		return
	}
	t.remove(f)
	if f.class = class; class != noClass {
		t.waiting = append(t.waiting, f)
	}
}

// remove takes a fill out.
func (t *turns) remove(f *fill) {
	if f.class != noClass {
		at := slices.Index(t.waiting, f)
		t.waiting = slices.Delete(t.waiting, at, at+1)
		f.class = noClass
	}
}

// take takes out the fill that sends next, of those that are allowed to; nil if none
// is, and its class. It is the first of the namespace whose last turn in the class is the longest ago.
func (t *turns) take(again bool, allowed func(f *fill, class int) bool) (next *fill, class int) {
	var least [3]int
	for _, f := range t.waiting {
		its := f.class
		if retries(its) && !again {
			its = f.fresh
		}
		if its == noClass {
			continue
		}
		if order := t.order(f, its); (next == nil || slices.Compare(order[:], least[:]) < 0) && allowed(f, its) {
			next, class, least = f, its, order
		}
	}
	if next == nil {
		return nil, noClass
	}
	t.taken++
	next.namespace.turns[class] = t.taken
	t.remove(next)
	return next, class
}

// order is what the fill that sends next has the least of.
func (t *turns) order(f *fill, class int) [3]int {
	if t.probes {
		return [3]int{class % 2, slices.Max(f.namespace.turns[:]), class} // what is tried again may hang
	}
	return [3]int{class, f.namespace.turns[class]}
}

// Turn says how urgent the next write is, and whether it tries again what failed.
type Turn struct {
	Rank  Rank
	Retry bool
}

// Next returns the turn of the most urgent write that waits for nothing but a lane,
// and false if there is none. What is tried again comes after what is as urgent, and counts
// only where again says so. A write that makes something ready is as urgent as the loss that
// waits for it.
func (o *Outbox) Next(now time.Time, again bool) (next Turn, found bool) {
	i, next := o.pick(now, again)
	return next, i >= 0
}

// pick returns the index of the write that Next is about, or -1.
func (o *Outbox) pick(now time.Time, again bool) (index int, next Turn) {
	index = -1
	for i, e := range o.waiting { // in the order of their ranks
		turn := Turn{e.rank, o.Retries(e.Slice.Name)}
		if turn.Retry && (!again || index >= 0) || !o.sendable(e, now) {
			continue
		}
		if e.rank == Gain && o.lossWaits(now) {
			turn.Rank = Loss
		}
		if index < 0 || classOf(turn) < classOf(next) {
			index, next = i, turn
		}
		if !turn.Retry {
			break
		}
	}
	return index, next
}

// Waits reports whether a write waits for nothing but a lane.
func (o *Outbox) Waits(now time.Time) bool {
	_, found := o.Next(now, true)
	return found && o.server.Takes(now)
}

// lossWaits reports whether a loss waits until something is ready.
func (o *Outbox) lossWaits(now time.Time) bool {
	return slices.ContainsFunc(o.waiting, func(e entry) bool {
		return e.rank == Loss && !o.due(e, now).After(now) && o.wouldEmpty(e.Write)
	})
}

// Settled reports whether no failure of a slice is remembered.
func (o *Outbox) Settled() bool {
	for _, r := range o.records {
		if r.failures > 0 {
			return false
		}
	}
	return true
}

// Retries reports whether the last write of the slice of that name failed.
func (o *Outbox) Retries(name string) bool {
	r := o.records[name]
	return r != nil && r.failing()
}

// bucket holds tokens: interval by interval comes one back, and those of a window are saved.
// With an interval of 0 there is no bound.
type bucket struct {
	interval, window time.Duration
	// full is when the last token that was taken has come back.
	full time.Time
}

// take takes a token.
func (b *bucket) take(now time.Time) { b.full = later(b.full, now).Add(b.interval) }

// next returns when there is a token.
func (b *bucket) next() time.Time { return b.full.Add(b.interval - b.window) }
