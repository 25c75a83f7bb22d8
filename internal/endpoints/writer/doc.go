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
//	turns      whose write goes out next
//	agenda     when time alone is an event for whom
package writer
