package main

import "fmt"

const paper = `
### What one process can serve, on paper

From the figures above: at rest with TCP checks every 2 s, 1,000 nodes cost %.3f cores and %s, 10,000 nodes %.2f cores (%s µs for each check) and %s; each node more costs %s. A process with one core and %s would so serve about %s checked nodes, whether of one target or of many: nodes of one remote cluster that several targets publish are watched once, but each target checks them on its own port, decides over them and writes slices of its own. Without checks it is the memory alone that limits. Today one process has one target; what follows is not built.

What breaks first, in this order:

1. **Checks.** They are the only cost that runs all the time. Silent backends get three quarters of ` + "`HEALTH_CHECK_CONCURRENCY`" + `, so a round takes N × time-out / (3/4 × concurrency) when all are silent: with the defaults (1 s, 256) more than an interval of 2 s from 385 nodes on, of which ` + "`check`" + ` warns. That slows the detection of a cut-off network, not that of a single dead backend. Raise the concurrency, or the interval.
2. **A change in a large target.** It is decided over all its members (%s of CPU at 10,000 nodes), so that safety never rests on a part of the picture. Changes that arrive together are decided together, so more of them cost no more.
3. **The write.** A slice of at most 100 endpoints is written at most five times at once and then once a second, so that a rolling restart of everything costs N/100 writes a second; the local API server passes each on to every node of its cluster. That is the limit of EndpointSlices, not of the process.
4. **Memory**, linear in the nodes, last.

Split over replicas: a Lease for each shard of the targets (` + "`<name>-0` to `<name>-k`" + `, a target's shard being a hash of its namespace and name), each replica campaigning for all, preferring those of its own number and leaving what is above its share. Whoever holds a shard's Lease watches, checks and writes for its targets alone, as the single Lease's holder does today; nothing else has to be shared, because the slices are the only memory. A single target that is too large for one process would be split by its nodes' addresses for the checks only; its decision must stay in one place.
`

// interval is the default of HEALTH_CHECK_INTERVAL in seconds.
const interval = 2.0

// onPaper says what the figures mean for the size of an installation.
func onPaper(r results) string {
	small, large := at("Steady", 1_000, "daemon"), at("Steady", 10_000, "daemon")
	if !r.has(small) || r.most(large, "checks/s") == 0 {
		return ""
	}
	perNode := (r.most(large, "resident-B") - r.most(small, "resident-B")) / 9_000
	// What is not checked in time costs nothing, so it is the checks that count.
	check := r.most(large, "cores") / r.most(large, "checks/s")
	nodes := 1 / (check / interval)
	return fmt.Sprintf(paper, r.most(small, "cores"), size(r.most(small, "resident-B")), r.most(large, "cores"), short(1e6*check), size(r.most(large, "resident-B")),
		size(perNode), size(r.most(large, "resident-B")+perNode*(nodes-10_000)), number(float64(int(nodes/1_000)*1_000)),
		duration(r.quantile(at("ChangeCost", 10_000, "daemon"), "cpu-ns/op", 0.5)))
}
