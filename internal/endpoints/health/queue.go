package health

import "container/heap"

// waitQueue holds the entries that are due, until they get a slot.
type waitQueue struct {
	urgent, regular queue
	// passed counts the urgent entries in a row that went before a regular one.
	passed int
}

// urgentShare is how many urgent entries go before a regular one that waits too.
// They need not wait for the others, nor can they shut them out.
const urgentShare = 3

// add puts an entry that is in no queue at the end.
func (q *waitQueue) add(e *entry) {
	if e.urgent {
		q.urgent.add(e)
	} else {
		q.regular.add(e)
	}
}

// first returns the entry whose turn it is, or nil.
func (q *waitQueue) first() *entry {
	if e := q.urgent.first(); e != nil && (q.passed < urgentShare || len(q.regular) == 0) {
		return e
	}
	return q.regular.first()
}

// remove takes the first entry out, as its turn.
func (q *waitQueue) remove(e *entry) {
	e.leave()
	if e.urgent && len(q.regular) > 0 {
		q.passed++
	} else {
		q.passed = 0
	}
}

// queue is a heap of entries, the one that is due first in front.
type queue []*entry

// add puts an entry that is in no queue into this one.
func (q *queue) add(e *entry) {
	e.queue = q
	heap.Push(q, e)
}

// first returns the entry that is due first, or nil.
func (q *queue) first() *entry {
	if len(*q) == 0 {
		return nil
	}
	return (*q)[0]
}

// leave takes the entry out of the queue it is in, if any.
func (e *entry) leave() {
	if e.queue != nil {
		heap.Remove(e.queue, e.index)
		e.queue = nil
	}
}

// Len, Less, Swap, Push and Pop are for package heap.

// Len returns the number of entries.
func (q queue) Len() int { return len(q) }

// Less orders by the time at which they are due, then by address, so that runs
// repeat.
func (q queue) Less(i, j int) bool {
	if q[i].due != q[j].due {
		return q[i].due < q[j].due
	}
	return q[i].address.Less(q[j].address)
}

// Swap exchanges two entries.
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push appends an *entry.
func (q *queue) Push(x any) {
	if e, ok := x.(*entry); ok {
		e.index = len(*q)
		*q = append(*q, e)
	}
}

// Pop removes the last entry.
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
