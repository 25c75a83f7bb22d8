package writer

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

const (
	// Lanes is how many requests may be in flight where SetOptions names no number.
	Lanes = 8
	// failingLanes is how many of them slices may have whose last write failed.
	failingLanes = 2
	// Fresh is the age at which a diff is made anew before more of it is sent.
	Fresh = time.Second
	// backoffMin and backoffMax bound the wait after a write or a read that failed: shorter
	// than that of a source, because dead backends wait for it.
	backoffMin = time.Second
	backoffMax = 15 * time.Second
)

// Outbox holds the newest diff and what is known of each slice. It is not safe for
// use by several goroutines. Its methods are called in this order:
//
//	to plan            Planned, then Offer with the diff from what that returned
//	to write           Take, and Report with what came of it, once for each Take;
//	                   after a success Landed gives the slices as they are known then
//	to read the store  Ended before the request, and Merge with the answer and that number,
//	                   or GiveUp where there is no answer
//
// Between two calls each of the three may come at any time: a Report may follow an Offer that
// is newer than its Take, and a Merge one that is newer than its request.
type Outbox struct {
	// random draws the waits after failures: at least 0 and less than 1.
	random func() float64
	// waiting are the writes of the newest diff that no lane has taken, the most
	// urgent first; made is when that diff was made.
	waiting []entry
	made    time.Time
	// final are all slices once it is written.
	final []publish.Slice
	// known are the slices as they are.
	known   []publish.Slice
	records map[string]*record
	server  *Server
	// ended is how many requests have ended.
	ended int
}

// entry is one write of the newest diff.
type entry struct {
	publish.Write
	rank Rank
	// losses says that it is only a part: what another entry takes from the same slice.
	losses bool
}

// Result is what came of one request.
type Result struct {
	Write publish.Write
	// Sent is when the request was made.
	Sent time.Time
	// Version is the slice's after a success; empty where the store cannot tell.
	Version string
	Err     error
}

// NewOutbox returns an empty Outbox. The server is shared with all outboxes for it.
func NewOutbox(server *Server, random func() float64) *Outbox {
	return &Outbox{random: random, server: server, records: make(map[string]*record)}
}

// Offer replaces the diff by a newer one, which leads from the given slices, as
// Planned returned them, to what was decided. known are the slices as they are.
func (o *Outbox) Offer(known []publish.Slice, writes []publish.Write, now time.Time) {
	o.made, o.known, o.waiting = now, known, o.ranked(writes, known)
	differs := make(map[string]bool, len(writes))
	for _, w := range writes {
		differs[w.Slice.Name] = true
	}
	for name, r := range o.records {
		if !differs[name] {
			r.inSync(now)
		}
	}
}

// Take returns the write that a free lane should send at now, and remembers that
// it is in flight: Report has to follow.
func (o *Outbox) Take(now time.Time) (publish.Write, bool) {
	i := o.next(now)
	if i < 0 {
		return publish.Write{}, false
	}
	e := o.waiting[i]
	o.waiting = slices.DeleteFunc(o.waiting, func(other entry) bool {
		return other.Slice.Name == e.Slice.Name && (other.losses || !e.losses)
	})
	e.Trigger = now
	r := o.record(e.Slice.Name)
	r.send(e, now)
	o.server.count(r.retry, 1)
	return e.Write, true
}

// Stale reports whether a write could go out now, but from a diff so old that it
// should be made anew first.
func (o *Outbox) Stale(now time.Time) bool {
	return now.Sub(o.made) > Fresh && o.next(now) >= 0
}

// next returns the index of the write that may go out now, or -1.
func (o *Outbox) next(now time.Time) int {
	if !o.server.Free(now) {
		return -1
	}
	index, _ := o.pick(now, o.server.TakesRetries())
	return index
}

// sendable reports whether the write waits for nothing but a lane.
func (o *Outbox) sendable(e entry, now time.Time) bool {
	return !o.due(e, now).After(now) && !o.blocked(e.Write) && !o.wouldEmpty(e.Write)
}

// Wake returns when time alone makes a write due, zero if it does not. The server
// may make it wait longer.
func (o *Outbox) Wake(now time.Time) time.Time {
	var wake time.Time
	for _, e := range o.waiting {
		at := o.due(e, now)
		if at.After(now) && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	return wake
}

// Ended is how many requests have ended. A load that is asked for now shows what
// came of all of them.
func (o *Outbox) Ended() int { return o.ended }

// Report takes in what came of a write.
func (o *Outbox) Report(result Result, now time.Time) {
	r := o.record(result.Write.Slice.Name)
	o.server.count(r.retry, -1)
	o.ended++
	r.ended = o.ended
	if Answered(result.Err) {
		o.server.outage.over(now)
	}
	switch {
	case result.Err == nil:
		o.known = put(slices.Clone(o.known), result.Write.Slice)
		r.landed(result)
		if !o.rebase(result) {
			r.inSync(now)
		}
		return
	case errors.Is(result.Err, publish.ErrStoredOtherwise) && !r.losses:
		r.storedOtherwise(result)
	case errors.Is(result.Err, publish.ErrUnavailable):
		o.server.outage.begin(result, now, o.random)
	case errors.Is(result.Err, publish.ErrConflict) && r.failures == 0:
		r.failures++ // it was decided on an old state: the next try need not wait
	default:
		r.retryAt = now.Add(backoff(r.failures, o.random))
		r.failures++
	}
	r.fail(result)
}

// rebase gives the write that waits for the slice the version that it has now: it
// was planned from what the last write leaves. It reports whether one waits.
func (o *Outbox) rebase(result Result) (waits bool) {
	for i := range o.waiting {
		if o.waiting[i].Slice.Name == result.Write.Slice.Name {
			o.waiting[i].Slice.Version, waits = result.Version, true
		}
	}
	return waits
}

// Planned returns the slices as they will be when what is in flight has landed.
// A write of unknown outcome counts as landed until its slice was read, so that its
// endpoints are placed nowhere else.
func (o *Outbox) Planned(known []publish.Slice) []publish.Slice {
	planned := slices.Clone(known)
	for _, r := range o.records {
		if r.write != nil {
			planned = put(planned, r.write.Slice)
		}
	}
	return planned
}

// Pending is how many slices are not known to be as they should be.
func (o *Outbox) Pending() int {
	pending := 0
	for _, r := range o.records {
		if r.write != nil {
			pending++
		}
	}
	for _, e := range o.waiting {
		if r := o.records[e.Slice.Name]; !e.losses && (r == nil || r.write == nil) {
			pending++
		}
	}
	return pending
}

// Underway reports whether a request is in flight.
func (o *Outbox) Underway() bool {
	for _, r := range o.records {
		if r.inFlight() {
			return true
		}
	}
	return false
}

// Unread reports whether a slice has to be read: before it can be written again,
// or because a load that did not count for it said something new.
func (o *Outbox) Unread() bool {
	for _, r := range o.records {
		if r.unread || r.skipped && !r.inFlight() {
			return true
		}
	}
	return false
}

// Err returns why slices that should be written cannot be, nil if all can.
func (o *Outbox) Err() error {
	var failing []string
	for name, r := range o.records {
		if r.err != nil {
			failing = append(failing, name)
		}
	}
	if len(failing) == 0 {
		return nil
	}
	err := o.records[slices.Min(failing)].err
	if len(failing) > 1 {
		err = fmt.Errorf("%d slices cannot be written; the first: %w", len(failing), err)
	}
	return err
}

// record returns what is known of the slice of that name.
func (o *Outbox) record(name string) *record {
	r, ok := o.records[name]
	if !ok {
		r = &record{bucket: bucket{interval: refill, window: burst * refill}}
		o.records[name] = r
	}
	return r
}
