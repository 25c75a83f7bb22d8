package writer

import (
	"slices"
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
