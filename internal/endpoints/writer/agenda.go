package writer

import (
	"container/heap"
	"time"
)

// agenda holds when time alone is an event for which fill, the earliest first.
type agenda []*fill

// set notes when the fill is due, zero for never.
func (a *agenda) set(f *fill, at time.Time) {
	if !f.due.IsZero() {
		heap.Remove(a, f.place)
	}
	if f.due = at; !at.IsZero() {
		heap.Push(a, f)
	}
}

// next returns when the first fill is due, zero if none ever is.
func (a agenda) next() time.Time {
	if len(a) == 0 {
		return time.Time{}
	}
	return a[0].due
}

// pop takes off a fill that is due at now, nil if there is none.
func (a *agenda) pop(now time.Time) *fill {
	if len(*a) == 0 || a.next().After(now) {
		return nil
	}
	f := (*a)[0]
	a.set(f, time.Time{})
	return f
}

// Len, Less, Swap, Push and Pop make a heap of it.
func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].due.Before(a[j].due) }
func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

func (a *agenda) Push(x any) {
	f, _ := x.(*fill)
	f.place = len(*a)
	*a = append(*a, f)
}

func (a *agenda) Pop() any {
	last := len(*a) - 1
	f := (*a)[last]
	(*a)[last], *a = nil, (*a)[:last]
	return f
}
