// Package target keeps the slices of one Service equal to what its pool decided.
//
//	Verdict ──> plan.Desired ──> plan.Diff ──> outbox ──> lanes ──> store
//	                  ^                                               │
//	                  └── the slices as they are, and as they will be ┘
//
// A verdict comes from outside, and the newest one counts. The target knows no
// source, no check and no reason: whatever is in the verdict is published, with
// the fewest writes.
package target
