package main

import (
	"fmt"
	"strings"
)

const viewsIntro = `## Endpoint views

The built ` + "`endpoint-views serve`" + ` on a real API server, slices of 100 endpoints, and streams over HTTP that the measuring process reads. All of them share this machine.

%s
- *bare* (bench/informer) is the least that client-go needs: an informer with protobuf, whose handler compares two states of a slice and prints a line for each endpoint that differs. It joins nothing, resumes nothing, and has one reader in every row.
- Both sides tell of *the same write at the same time*, so each pair shares the machine's load. *times* is the ratio of the medians.
- *Time* is from the moment in which the write was sent to the API server to the consumer's line; with several readers that of the median reader, *last* that of the last one.

| endpoints | readers | median | p90 | last reader, median | bare | times |
|---:|---:|---:|---:|---:|---:|---:|
`

const burstIntro = `
Every endpoint changes at once, 100 in a write, 4 writes at a time. The time ends with the last line of the last reader. *Lines a second* are those of all readers together; the API server's own time for the writes is in all of them.

| endpoints | readers | events a second | lines a second | bare, events a second | times the bare one's time | CPU of an event | bare |
|---:|---:|---:|---:|---:|---:|---:|---:|
`

const outageIntro = `
The API server is killed and started again after a time. As soon as it is ready an endpoint changes. *Lines* are what each side reported since before the outage: one is right.

| endpoints | away | views: the change after the return | lines | bare: the change after the return | lines |
|---:|---:|---:|---:|---:|---:|
`

const viewsMemoryIntro = `
Resident bytes, after the changes and bursts above.

| endpoints | readers | views | bare |
|---:|---:|---:|---:|
`

const flipsIntro = `
One endpoint changes its state as often as the API server takes it, and the reader and the reconciler of ` + "`pkg/views`" + `, which takes 100 ms for each call, have the newest state in the end: the test fails otherwise. A reader that keeps up gets a line for nearly each; one that does not gets the newest state.

| endpoints | changes | lines of a reader | of the bare informer | calls of the reconciler | the last line after the last write |
|---:|---:|---:|---:|---:|---:|
`

const viewsIdleIntro = `
Nothing changes, as the audit log of the API server says. A watch ends after about a minute and is opened again.

| endpoints | for | requests | watches opened | CPU, cores |
|---:|---:|---:|---:|---:|
`

func presentViews(r results) part {
	var b strings.Builder
	fmt.Fprintf(&b, viewsIntro, r.measuredOn())
	for _, c := range viewsCases(r, "ViewsChange") {
		ours, bare := viewsAt("ViewsChange", c.endpoints, c.readers, "views"), viewsAt("ViewsChange", c.endpoints, c.readers, "bare")
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %.2f |\n", number(float64(c.endpoints)), c.readers, duration(r.quantile(ours, "ns/op", 0.5)),
			duration(r.quantile(ours, "ns/op", 0.9)), duration(r.quantile(ours, "last-ns/op", 0.5)), duration(r.quantile(bare, "ns/op", 0.5)), c.ratio(r, "ViewsChange", "ns/op"))
	}
	b.WriteString(burstIntro)
	for _, c := range viewsCases(r, "ViewsBurst") {
		ours, bare := viewsAt("ViewsBurst", c.endpoints, c.readers, "views"), viewsAt("ViewsBurst", c.endpoints, c.readers, "bare")
		events, n := r.quantile(ours, "events/s", 0.5), float64(c.endpoints)
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %.2f | %s | %s |\n", number(n), c.readers, number(events), number(events*float64(c.readers)),
			number(r.quantile(bare, "events/s", 0.5)), c.ratio(r, "ViewsBurst", "ns/op"), duration(r.quantile(ours, "cpu-ns/op", 0.5)/n), duration(r.quantile(bare, "cpu-ns/op", 0.5)/n))
	}
	b.WriteString(viewsMemoryIntro)
	for _, c := range viewsCases(r, "ViewsMemory") {
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", number(float64(c.endpoints)), c.readers, size(r.most(viewsAt("ViewsMemory", c.endpoints, c.readers, "views"), "resident-B")),
			size(r.most(viewsAt("ViewsMemory", c.endpoints, c.readers, "bare"), "resident-B")))
	}
	b.WriteString(flipsIntro)
	for _, c := range viewsCases(r, "ViewsFlips") {
		v := func(unit string) float64 { return r.most(viewsAt("ViewsFlips", c.endpoints, c.readers, "views"), unit) }
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", number(float64(c.endpoints)), number(v("flips")), number(v("lines")), number(v("bare-lines")), number(v("reconciles")), duration(v("after-write-ns/op")))
	}
	b.WriteString(outageIntro)
	for _, c := range viewsCases(r, "ViewsOutage") {
		ours, bare := viewsAt("ViewsOutage", c.endpoints, c.readers, "views"), viewsAt("ViewsOutage", c.endpoints, c.readers, "bare")
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", number(float64(c.endpoints)), duration(r.most(ours, "away-ns/op")),
			duration(r.most(ours, "ns/op")), number(r.most(ours, "lines")), duration(r.most(bare, "ns/op")), number(r.most(bare, "lines")))
	}
	b.WriteString(viewsIdleIntro)
	for _, c := range viewsCases(r, "ViewsIdle") {
		v := func(unit string) float64 { return r.most(viewsAt("ViewsIdle", c.endpoints, c.readers, "views"), unit) }
		fmt.Fprintf(&b, "| %s | %s s | %s | %s | %.4f |\n", number(float64(c.endpoints)), number(v("s")), number(v("requests")), number(v("watches")), v("cores"))
	}
	return part{prose: b.String(), targets: viewsTargets(r)}
}
