package main

import (
	"fmt"
	"html"
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

![Time of a pass](plan-time.svg)

The fastest of the runs, because whatever else the machine does only adds to it; [all runs](plan-benchmark.txt).

| endpoints | change | side | time | bytes | allocations | slices written |
|---:|---|---|---:|---:|---:|---:|
`

const planHistories = `
## Histories

At most 100 endpoints in a slice. *Used* slices hold endpoints; we never delete a slice, but empty it.

![Slices](plan-slices.svg)

![Endpoints written](plan-written.svg)

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
	return part{prose: b.String(), targets: planTargets(r), curves: planCurves(r), plots: map[string]string{
		"plan-time.svg":    plotTime(r),
		"plan-slices.svg":  plotHistories("slices that hold endpoints", r, "used", 1),
		"plan-written.svg": plotHistories("endpoints written in all, thousands", r, "endpoints-written", 1_000),
	}}
}

func tallyRow(history string, r results, name, side string) string {
	row := fmt.Sprintf("| %s | %s ", history, side)
	for _, unit := range []string{"used", "slices", "creates", "updates", "deletes", "endpoints-written"} {
		row += "| " + number(r.least(name, unit)) + " "
	}
	return row + "|\n"
}

func planPoints(r results, change, impl string) []point {
	var points []point
	for _, n := range sizes() {
		points = append(points, point{float64(n), r.least(pass(n, change, impl), "ns/op")})
	}
	return points
}

func planCurves(r results) []curve {
	return []curve{
		{quantity: "plan, nothing changed", unit: "ns", points: planPoints(r, "none", "plan"), remark: "10,000 members no longer fit the cache; the number of steps is linear but for one sort."},
		{quantity: "plan, one replaced", unit: "ns", points: planPoints(r, "replaced", "plan"), remark: "as above."},
		{quantity: "guard, nothing changed", unit: "ns", points: planPoints(r, "none", "guard"), remark: "as above; one walk along sorted lists, and a sort of the decisions."},
		{quantity: "upstream, nothing changed", unit: "ns", points: planPoints(r, "none", "upstream"), remark: "upstream's own."},
	}
}

func plotTime(r results) string {
	var lines []series
	for _, impl := range []string{"plan", "upstream", "guard"} {
		lines = append(lines, series{impl, planPoints(r, "none", impl)})
	}
	return chart("time of a pass without a change, by endpoints", duration, lines...)
}

// plotHistories draws a pair of bars for each history, of values by the unit.
func plotHistories(title string, r results, unit string, per float64) string {
	const left, width, step = 290, 290, 44
	most := 0.0
	for _, h := range histories() {
		most = max(most, r.least(historyName(h, "upstream"), unit), r.least(historyName(h, "plan"), unit))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-60 0 700 %d" width="700">%s<text class="t" x="-50" y="20">%s: upstream above, plan below</text>`,
		40+step*len(histories()), style, html.EscapeString(title))
	for i, h := range histories() {
		top := 36 + step*i
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, top+20, html.EscapeString(h.Name))
		for j, impl := range []string{"upstream", "plan"} {
			v := r.least(historyName(h, impl), unit)
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="14" fill="%s"/><text x="%.1f" y="%d">%s</text>`,
				left, top+16*j, width*v/most, colours()[1-j], left+width*v/most+5, top+16*j+12, number(v/per))
		}
	}
	return b.String() + "</svg>\n"
}
