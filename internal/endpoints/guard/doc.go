// Package guard compares what the source says with what the probes say and with
// what is published, and is the only place that fails open. A failure of source or
// probes never takes a working member away.
//
// In come an inventory (when there is a new one), the streaks of the probes and
// the memory of the decision before; out goes a verdict: the endpoints to publish,
// the mode, a decision for every address, and the memory for the next time. It is
// pure: time is a value, inputs are left alone.
//
//	reject.go   which inventories are rejected
//	placement.go  which placements are rejected, and what has no Pod
//	observe.go  where each member stands with the newest one
//	world.go    whether the prober is presumed cut off
//	state.go    the contract's table, for one address
//	open.go     what is ready where nothing else is
//	accept.go   what rejected inventories take away after all
//
// IPv4 and IPv6 are judged apart, as their slices and their clients are: a
// daemon without IPv6 must not take the IPv6 backends away, however well the
// IPv4 ones answer.
package guard
