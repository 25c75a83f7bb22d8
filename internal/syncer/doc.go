// Package syncer puts a pool and its target together and shows what they do.
//
//	       every SOURCE_POLL_INTERVAL, or when the source says so            every HEALTH_CHECK_INTERVAL
//	source ──[]inventory.Node──> filter ──[]Candidate + []Decision──┐   ┌──[]inventory.Result── probe
//	                                                                v   v
//	pool                                                        guard.Decide
//	                                                                │ Verdict{Mode, Cause, []Member, []Decision}
//	================================================================│===================================
//	target                                                          v
//	store <── lanes <── outbox <──[]plan.Write── plan.Diff <── plan.Desired
//	  └── the slices as they are: the daemon's only memory ─────────^
//
// Everything that waits has a goroutine of its own, so that a source or an API
// server that hangs never keeps a dead backend published. This is the only package
// below the admin pages that logs: the narration says what.
package syncer
