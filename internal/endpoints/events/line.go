package events

import "slices"

// line is where notices wait. Namespaces take turns, and each has room while others have more:
// whoever has many Services makes many notices.
type line struct {
	// of are the notices of each namespace in their order, total is how many there are, and room
	// how many there may be.
	of          map[string][]item
	total, room int
	// last is whose turn was last.
	last string
}

func newLine(room int) line { return line{of: make(map[string][]item), room: room} }

// add adds a notice. Where there is no room, the newest one of the namespace with the most makes
// room for it; the one that is left out is returned, which may be this one.
func (l *line) add(i item) (left *item) {
	namespace := i.subject.namespace
	if l.total == l.room {
		most := namespace
		for other, items := range l.of {
			if len(items) > max(len(l.of[most]), len(l.of[namespace])+1) {
				most = other
			}
		}
		if most == namespace {
			return &i
		}
		newest := len(l.of[most]) - 1
		left = &l.of[most][newest]
		l.of[most] = slices.Clip(l.of[most][:newest])
		l.total--
	}
	l.of[namespace] = append(l.of[namespace], i)
	l.total++
	return left
}

// take takes the first notice of a namespace.
func (l *line) take(namespace string) item {
	first, rest := l.of[namespace][0], l.of[namespace][1:]
	if l.of[namespace] = rest; len(rest) == 0 {
		delete(l.of, namespace)
	}
	l.total--
	return first
}

// turn returns the namespace whose turn it is: the next one in the order of names.
func (l *line) turn() (next string, ok bool) {
	for namespace := range l.of {
		if behind := namespace > l.last; !ok || behind && (next <= l.last || namespace < next) || !behind && next <= l.last && namespace < next {
			next, ok = namespace, true
		}
	}
	l.last = next
	return next, ok
}

// soonest returns the namespace whose first notice is sent next.
func (l *line) soonest() (next string, ok bool) {
	for namespace, items := range l.of {
		if !ok || items[0].notBefore.Before(l.of[next][0].notBefore) {
			next, ok = namespace, true
		}
	}
	return next, ok
}
