// Package simulation runs the real syncer, guard, plan and scheduler of probes
// in a scripted world with simulated time: a storm of random faults of source,
// backends, store, Service and process, and then calm. What the contract
// promises is checked at every request to the store and at every step; after the
// storm the slices have to become right, and writing has to stop.
//
// One seed scripts one world, and a failure names it:
//
//	make simulate                      # as CI does
//	make simulate SEED=17              # one seed, which failed
//	make simulate SEEDS=50000 DAYS=20  # a night's worth
//
// A seed replays, and a test holds it to that: one goroutine runs at a time, no
// two things outside of the daemon happen at the same instant, the daemon's own
// jitter is drawn from the seed, and the garbage is collected between two steps.
// What remains is Go's scheduler: a goroutine that runs for more than 10 ms of real
// time, as where the machine takes the CPU away, is put behind those that are
// ready as well. So on a busy machine a failure may take a second try; and so may
// one of the fifth of the seeds that have a leader election, whose clock is the
// machine's own, because it counts the time in which the machine was suspended.
//
// The oracle is derived from docs/contract.md and docs/adr alone, and is
// cautious: where several faults together leave room, it asks nothing. It
// contains tests only.
package simulation
