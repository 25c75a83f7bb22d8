package writer

import (
	"container/heap"
	"time"
)

// agenda holds when time alone is an event for which fill, the earliest first.
type agenda struct{ fills []*fill }

// set notes when the fill is due, zero for never.
func (a *agenda) set(f *fill, at time.Time) {
	listed := !f.due.IsZero()
	switch {
	case f.due.Equal(at):
	case at.IsZero():
		heap.Remove(a, f.place)
		f.due = at
	case listed:
		f.due = at
		heap.Fix(a, f.place)
	default:
		f.due = at
		heap.Push(a, f)
	}
}

// next returns when the first fill is due, zero if none ever is.
func (a *agenda) next() time.Time {
	if len(a.fills) == 0 {
		return time.Time{}
	}
	return a.fills[0].due
}

// pop takes off a fill that is due at now, nil if there is none.
func (a *agenda) pop(now time.Time) *fill {
	if len(a.fills) == 0 || a.fills[0].due.After(now) {
		return nil
	}
	f := a.fills[0]
	a.set(f, time.Time{})
	return f
}

// Len, Less, Swap, Push and Pop make a heap of it.
func (a *agenda) Len() int           { return len(a.fills) }
func (a *agenda) Less(i, j int) bool { return a.fills[i].due.Before(a.fills[j].due) }
func (a *agenda) Swap(i, j int) {
	a.fills[i], a.fills[j] = a.fills[j], a.fills[i]
	a.fills[i].place, a.fills[j].place = i, j
}

func (a *agenda) Push(x any) {
	f, _ := x.(*fill)
	f.place = len(a.fills)
	a.fills = append(a.fills, f)
}

func (a *agenda) Pop() any {
	last := len(a.fills) - 1
	f := a.fills[last]
	a.fills[last], a.fills = nil, a.fills[:last]
	return f
}
