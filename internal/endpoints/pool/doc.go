// Package pool decides which addresses of one remote cluster are published, and
// in which state: it reads, filters, checks and judges.
//
//	Reader:  source ──[]inventory.Node──> filter ──[]Candidate──> every group
//
//	Group:                                    intake ─┐
//	         health.Hub ──[]inventory.Result──────────┴─> guard.Decide ──> Verdict, for every target
//
// A pool is read once for all its groups, and a group (a pool and a check) decides
// once for all its targets. Groups and targets may come and go while the pool is
// read.
//
// A verdict is shared and never changed; of several that a target has not taken
// yet the newest one counts. A group knows no Service, no slice and no API server,
// and nothing that happens to a target or to another group delays it.
package pool
