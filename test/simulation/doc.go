// Package simulation runs the real syncer, guard, plan and scheduler of probes
// in a scripted world with simulated time: a storm of random faults of source,
// backends, store, Service and process, and then calm. What the contract
// promises is checked at every request to the store and at every step; after the
// storm the slices have to become right, and writing has to stop.
//
// One seed scripts one world, and a failure names it:
//
//	go test -tags simulation ./test/simulation -run Storm -seed 17 -tries 5
//	go test -tags simulation ./test/simulation -run Storm -seeds 5000
//	go test -tags simulation ./test/simulation -run Storm -seeds 10 -storm 24h
//
// It stands behind a build tag, outside of make test, as long as a rare breach is
// not understood: one run in about five hundred, of seed 1, saw a member begin to
// drain that, by the oracle, no read missed. Whether the oracle or the program is
// wrong has to be found out.
//
// A seed replays the world: what happens when, to whom, and the answer to the
// n-th question of each kind. The daemon's own jitter, and the order in which Go
// runs what is due at the same time, are not the world's, so a failure that
// hangs on them may take several tries.
//
// The oracle is derived from docs/contract.md and docs/adr alone, and is
// cautious: where several faults together leave room, it asks nothing. It
// contains tests only.
package simulation
