// Package simulation runs the real engine, guard, plan and scheduler of probes in a
// scripted world with simulated time: a storm of random faults of source, backends,
// store, Service and process, and then calm. It checks the promises of the contract
// at every request to the store and at every step. After the storm the slices must
// become right, and writing must stop.
//
// One seed scripts one world, and a failure names it:
//
//	make simulate SEEDS=200 DAYS=1     # as CI does
//	make simulate SEED=17              # one seed, which failed
//	make simulate SEEDS=50000 DAYS=20  # a night's worth
//
// A seed replays, and a test checks that: one goroutine runs at a time, no two things
// outside of the daemon happen at the same instant, the daemon's own jitter is drawn
// from the seed, and the garbage is collected between two steps. Go's scheduler is
// the exception: it puts a goroutine that runs for more than 10 ms of real time
// behind others that are ready, for example when the machine takes the CPU away. So
// on a busy machine a failure may need a second try. The same holds for the fifth of
// the seeds with a leader election: its clock is the machine's own, because it counts
// the time in which the machine was suspended.
//
// The oracle is derived from docs/design/contract.md and docs/design/adr alone, and is cautious: if
// several faults together leave room, it checks nothing. Beside it controllertest.Oracle judges two
// sentences, as in the histories of internal/endpoints/controller. The package contains tests only.
package simulation
