package writer

import (
	"slices"
	"time"
)

// turns says which fill sends next: losses go before additions, these before the
// rest, and in each class the namespaces take turns. A namespace's fills take turns
// as well. Only fills that have something to send are in it.
type turns struct {
	rings [2 * (Rest + 1)]ring
	// waiting is how many fills there are.
	waiting int
}

// ring holds the fills of one class by namespace; the first is next.
type ring []*lineup

// lineup holds the fills of one namespace; the first is next.
type lineup struct {
	namespace *namespace
	fills     []*fill
}

// noClass is the class of a fill that has nothing to send.
const noClass = -1

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

// set notes the class of a fill. In the class that it has it keeps its place.
func (t *turns) set(f *fill, class int) {
	if f.class == class {
		return
	}
	t.remove(f)
	if class == noClass {
		return
	}
	f.class = class
	t.waiting++
	r := &t.rings[class]
	i := slices.IndexFunc(*r, func(l *lineup) bool { return l.namespace == f.namespace })
	if i < 0 {
		*r = append(*r, &lineup{namespace: f.namespace, fills: []*fill{f}})
		return
	}
	(*r)[i].fills = append((*r)[i].fills, f)
}

// remove takes a fill out.
func (t *turns) remove(f *fill) {
	if f.class == noClass {
		return
	}
	r := &t.rings[f.class]
	i := slices.IndexFunc(*r, func(l *lineup) bool { return l.namespace == f.namespace })
	l := (*r)[i]
	at := slices.Index(l.fills, f)
	l.fills = slices.Delete(l.fills, at, at+1)
	if len(l.fills) == 0 {
		*r = slices.Delete(*r, i, i+1)
	}
	f.class = noClass
	t.waiting--
}

// take takes out the fill that sends next, of those that are allowed to; nil if none
// is, and its class. Its namespace goes to the end of the class.
func (t *turns) take(allowed func(class int) bool, may func(*namespace) bool, can func(*fill) bool) (f *fill, class int) {
	for class := range t.rings {
		if !allowed(class) {
			continue
		}
		for i, l := range t.rings[class] {
			if !may(l.namespace) {
				continue
			}
			at := slices.IndexFunc(l.fills, can)
			if at < 0 {
				continue
			}
			r := t.rings[class]
			f = l.fills[at]
			t.rings[class] = append(slices.Delete(r, i, i+1), l)
			t.remove(f)
			return f, class
		}
	}
	return nil, noClass
}

// Turn says how urgent the next write is, and whether it tries again what failed.
type Turn struct {
	Rank  Rank
	Retry bool
}

// Next returns the turn of the most urgent write that waits for nothing but a lane,
// and false if there is none. What is tried again comes last. A write that makes
// something ready is as urgent as the loss that waits for it.
func (o *Outbox) Next(now time.Time) (next Turn, found bool) {
	for _, e := range o.waiting {
		if !o.sendable(e, now) {
			continue
		}
		turn := Turn{e.rank, o.Retries(e.Slice.Name)}
		if e.rank == Gain && o.lossWaits(now) {
			turn.Rank = Loss
		}
		if !turn.Retry {
			return turn, true
		}
		if !found {
			next, found = turn, true
		}
	}
	return next, found
}

// Waits reports whether a write waits for nothing but a lane.
func (o *Outbox) Waits(now time.Time) bool {
	_, found := o.Next(now)
	return found && o.server.takes(max(o.underway(), o.server.Underway), now)
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
