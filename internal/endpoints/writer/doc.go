// Package writer keeps the slices of any number of Services equal to what their
// pools decided. One goroutine decides for all of them, and a few writers serve all.
//
//	verdict ──> choose ──> publish.Desired ──> publish.Diff ──> outbox ──> turns ──> writers ──> store
//	                             ^                             one for     one for all            │
//	                             │                             each fill                          │
//	                             └──── the slices as they are, and as they will be ───────────────┘
//
// A verdict comes from outside, and the newest one of each pool counts. A target
// knows no source, no check and no reason: whatever is in the verdict is published,
// with the fewest writes.
//
//	type       answers
//	Set        which targets are there; one loop for all
//	Target     one Service; has one fill for each of its pools
//	fill       the slices of one pool in one Service, and its place in the queues
//	machine    what one event means for those slices; no goroutine, no timer
//	Outbox     which write of one fill goes out when (contract 26); no goroutine, no timer
//	turns      whose write goes out next
//	agenda     when time alone is an event for whom
//
// An Outbox has no queue: a lane that is free takes from the newest diff, and a diff that
// has become old is made anew by the caller.
//
//	what happened                      what waits for it
//	a write is in flight               its slice, and what that write has to precede
//	a write failed                     its slice, until it was read and its back-off is over
//	the server refused a write         its slice, but for what only takes away (contract 222)
//	the first conflict in a row        its slice, until it was read
//	the server cannot be reached, 429  every slice, until the back-off is over; then one tries first
//	a slice was written often          its slice, until its bucket has a token
//	someone else edits it again        its slice, ever longer
//	nothing would be ready without it  a loss, until something else is ready
package writer
