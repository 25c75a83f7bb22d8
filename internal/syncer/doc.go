// Package syncer is the program: the pass that turns a read and the results of
// probes into writes, and the loop that runs it.
//
//	       every SOURCE_POLL_INTERVAL, or when the source says so            every HEALTH_CHECK_INTERVAL
//	source ──[]inventory.Node──> filter ──[]Candidate + []Decision──┐   ┌──[]inventory.Result── probe
//	                                                                v   v
//	                                                            guard.Decide
//	                                                                │ Verdict{Mode, Cause, []Member, []Decision}
//	                                                                v
//	store <──[]plan.Write── plan.Diff <─────────────────────── plan.Desired
//	  └── the slices as they are: the daemon's only memory ─────────^
//
// Reading, probing and writing each have a goroutine of their own, so that a
// source or an API server that hangs never keeps a dead backend published; the
// loop itself waits for nothing but events. It is the only package below the
// admin pages that logs.
package syncer
