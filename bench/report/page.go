package main

import (
	"fmt"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench"
)

// The benchmarks there are, in the order of the tables.
func sizes() []int      { return []int{10, 100, 1_000, 10_000} }
func changes() []string { return []string{"none", "replaced", "flipped", "rolled"} }
func impls() []string   { return []string{"upstream", "plan", "guard"} }

const intro = `# Performance

<!-- Written by make bench; edit bench/report instead. -->

What planning the slices costs, next to the reconciler of Kubernetes itself (` + "`k8s.io/endpointslice`" + `, as a library).

%s, %d cores, %s, k8s.io/endpointslice %s; load of the machine before the run: %s.
%s
` + "```" + `
make bench                                        # this page
cd bench && go test -run '^$' -bench . -count 6   # the figures alone, for benchstat -col /impl
make test-bench                                   # the targets, as tests
` + "```" + `

## How the sides are made comparable

- Both get the same fleets, and both start from the very same slices: full ones in random order, which upstream's reconciler made.
- Upstream is fed with one Pod for each node, from listers in memory. The Pods have only the fields that it reads.
- No API server, and no time for one: upstream's client is written by hand, answers creates, updates and deletes at once and only notes them. The clientset for tests that client-go has would copy each object several times. Our plan returns its writes as values; its store is not part of the measurement either.
- Upstream's metrics, logs, Events and topology cache are off.
- ` + "`plan`" + ` is ` + "`plan.Desired` and `plan.Diff`" + `, what upstream's reconciler does. ` + "`guard`" + ` is ` + "`guard.Decide`" + ` after a read: safety that upstream has no counterpart for, so it stands apart. A decision after a read costs both: the daemon's share of the time is mostly the guard's.
- The numbers of slices and endpoints written are exact; ours are the same in every run. Upstream takes endpoints from a map, so its own differ a little from run to run.

`

const reason = `
### Why not fewer endpoints written in the batches

A removal rewrites every slice that it hits, whole. A slice of *s* endpoints escapes the removal of a random tenth with probability 0.9^*s*, and then *s* endpoints need not be written. Full slices never escape; small ones do, and upstream keeps making more of them. At most 100 slices for 5,000 endpoints can save about 178 endpoints a round (51 slices of 9 or 10, the others nearly full), so that no planner within the bound writes fewer than about 4,820 a round on average (4,500 less 178, and the 500 that are new). The two targets exclude each other; we keep the bound. Each slice more is a request for every later removal: upstream pays for its fewer endpoints with more requests.

After shrinking and growing back the sums are equal: each side writes what stays and what is new, once.
`

func page(m machine, r results, outcomes []outcome) string {
	var b strings.Builder
	busy := ""
	if m.load == "unknown" || !quiet(m) {
		busy = "\nThe machine was not at rest: ratios and counts hold, the times are to be taken again on a quiet one.\n"
	}
	fmt.Fprintf(&b, intro, m.cpu, m.cores, m.goVersion, m.kubernetes, m.load, busy)
	b.WriteString(targets(r, outcomes))
	b.WriteString("\n## One pass\n\n![Time of a pass](plan-time.svg)\n\n")
	b.WriteString("The fastest of the runs, because whatever else the machine does only adds to it; [all runs](plan-benchmark.txt).\n\n| endpoints | change | side | time | bytes | allocations | slices written |\n|---:|---|---|---:|---:|---:|---:|\n")
	for _, n := range sizes() {
		for _, change := range changes() {
			for _, impl := range impls() {
				v := r[key{n, change, impl}]
				slices := "–"
				if impl != "guard" {
					slices = number(v["slices/op"])
				}
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", number(float64(n)), change, impl,
					duration(v["ns/op"]), number(v["B/op"]), number(v["allocs/op"]), slices)
			}
		}
	}
	b.WriteString("\n## Histories\n\nAt most 100 endpoints in a slice. *Used* slices hold endpoints; we never delete a slice, but empty it.\n\n")
	b.WriteString("![Slices](plan-slices.svg)\n\n![Endpoints written](plan-written.svg)\n\n")
	b.WriteString("| history | side | used | slices | creates | updates | deletes | endpoints written |\n|---|---|---:|---:|---:|---:|---:|---:|\n")
	for _, o := range outcomes {
		b.WriteString(row(o.history.Name, "upstream", o.upstream) + row("", "plan", o.ours))
	}
	b.WriteString(reason)
	return b.String()
}

func row(name, side string, t bench.Tally) string {
	return fmt.Sprintf("| %s | %s | %d | %d | %s | %s | %s | %s |\n", name, side, t.Used, t.Slices,
		number(float64(t.Creates)), number(float64(t.Updates)), number(float64(t.Deletes)), number(float64(t.Written)))
}
