// Package pool decides which addresses of one remote cluster are published, and
// in which state: it reads, filters, checks and judges.
//
//	source ──[]inventory.Node──> filter ──[]Candidate──> intake ─┐
//	                                                             v
//	probes ──[]inventory.Result────────────────────────> guard.Decide ──> Verdict, for every target
//
// A verdict is shared and never changed; of several that a target has not taken
// yet the newest one counts. The pool knows no Service, no slice and no API
// server, and nothing that happens to a target delays it.
package pool
