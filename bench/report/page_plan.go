package main

import (
	"fmt"
	"strings"
)

const planIntro = `## One pass

What planning the slices costs, next to the reconciler of Kubernetes itself, as a library.

%s- Both get the same fleets, and both start from the very same slices: full ones in random order, which upstream's reconciler made.
- Upstream (k8s.io/endpointslice %s) is fed with one Pod for each node, from listers in memory. The Pods have only the fields that it reads.
- No API server, and no time for one: upstream's client is written by hand, answers creates, updates and deletes at once and only notes them. The clientset for tests that client-go has would copy each object several times. Our plan returns its writes as values; its store is not part of the measurement either.
- Upstream's metrics, logs, Events and topology cache are off.
- ` + "`plan`" + ` is ` + "`plan.Desired` and `plan.Diff`" + `, what upstream's reconciler does. ` + "`guard`" + ` is ` + "`guard.Decide`" + ` after a read: safety that upstream has no counterpart for, so it stands apart. A decision after a read costs both: the daemon's share of the time is mostly the guard's.
- The numbers of slices and endpoints written are exact; ours are the same in every run. Upstream takes endpoints from a map, so its own differ a little from run to run.

The fastest of the runs, because whatever else the machine does only adds to it; [all runs](plan-benchmark.txt).

| endpoints | change | side | time | bytes | allocations | slices written |
|---:|---|---|---:|---:|---:|---:|
`

const planHistories = `
## Histories

At most 100 endpoints in a slice. *Used* slices hold endpoints; we never delete a slice, but empty it.

| history | side | used | slices | creates | updates | deletes | endpoints written |
|---|---|---:|---:|---:|---:|---:|---:|
`

const planReason = `
Endpoints written are no target in the batches and in shrinking: with at most 100 slices no planner gets below some 4,820 a round, because only slices kept small escape a removal, and after shrinking each side writes what stays and what is new, once.
`

func presentPlan(r results) part {
	var b strings.Builder
	fmt.Fprintf(&b, planIntro, r.measuredOn(), r.says["endpointslice"])
	for _, n := range sizes() {
		for _, change := range changes() {
			for _, impl := range impls() {
				name, slices := pass(n, change, impl), "–"
				if impl != "guard" {
					slices = number(r.least(name, "slices/op"))
				}
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", number(float64(n)), change, impl,
					duration(r.least(name, "ns/op")), number(r.least(name, "B/op")), number(r.least(name, "allocs/op")), slices)
			}
		}
	}
	b.WriteString(planHistories)
	for _, h := range histories() {
		b.WriteString(tallyRow(h.Name, r, historyName(h, "upstream"), "upstream") + tallyRow("", r, historyName(h, "plan"), "plan"))
	}
	b.WriteString(planReason)
	return part{prose: b.String(), targets: planTargets(r)}
}

func tallyRow(history string, r results, name, side string) string {
	row := fmt.Sprintf("| %s | %s ", history, side)
	for _, unit := range []string{"used", "slices", "creates", "updates", "deletes", "endpoints-written"} {
		row += "| " + number(r.least(name, unit)) + " "
	}
	return row + "|\n"
}
