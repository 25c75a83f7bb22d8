package main

import (
	"fmt"
	"strings"
)

const manyIntro = `## Many Services

The built program with ` + "`DOCUMENTS_DIR`" + ` on a real API server: one pool of a fixed list, Services with an annotation, 50 in a namespace, a TCP check of each node every 2 s. A node dies (connections are refused), and comes back.

%s- *Time* is from the verdict, which is a line of the program's log, to the moment in which a watch tells of the last slice. *First* and *half* are the first and the middle slice.
- *Bare* (bench/writers) is 8 writers with the same client, which write as many slices of the same size and do nothing else. The daemon runs beside them at rest. *times* is the ratio of the medians.
- *kube-controller-manager* is its endpointslice controller alone, with as many Services in one namespace that select the same Pods. A Pod becomes unready. Its time begins with the answer to that: it has nothing to detect. *Default* is with its own limits (20 requests a second, 5 workers), *unlimited* without a limit and with 16 workers.
- All of them share this machine with the API server, and the API server's time for a write is most of the time.

| Services x endpoints | first | half | all | bare | times | kube-controller-manager, unlimited | default |
|---:|---:|---:|---:|---:|---:|---:|---:|
`

const manyBackIntro = `
The node comes back. That is no loss: such writes go out at 100 a second, after 1,000 at once.

| Services x endpoints | first | half | all | bare | times | kube-controller-manager, unlimited |
|---:|---:|---:|---:|---:|---:|---:|
`

const manyCostIntro = `
What the death of a node costs, for each Service. CPU is that of the program alone, less what it takes at rest.

| Services x endpoints | writes | reads | Events | CPU | bare, CPU | kube-controller-manager, CPU |
|---:|---:|---:|---:|---:|---:|---:|
`

const manyRestIntro = `
At rest. *Start* is from the execution of the program, whose slices are all right, until it knows that.

| Services x endpoints | memory | peak | CPU, cores | requests | in | watches opened | checks a second | goroutines | start | writes | first start, slices are made | memory of kube-controller-manager |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`

func presentTargets(r results) part {
	var b strings.Builder
	fmt.Fprintf(&b, manyIntro, r.measuredOn())
	for _, s := range manyShapes(r, "Down") {
		fmt.Fprintf(&b, "%s | %s | %s |\n", manyTimes(r, s, "Down"), r.time(manyAt("Down", s, "manager-unlimited")), r.time(manyAt("Down", s, "manager")))
	}
	b.WriteString(manyBackIntro)
	for _, s := range manyShapes(r, "Up") {
		fmt.Fprintf(&b, "%s | %s |\n", manyTimes(r, s, "Up"), r.time(manyAt("Up", s, "manager-unlimited")))
	}
	b.WriteString(manyCostIntro)
	for _, s := range manyShapes(r, "Down") {
		name := manyAt("Down", s, "daemon")
		cpu := func(side string) string {
			return duration(r.quantile(manyAt("Down", s, side), "cpu-ns/target", 0.5))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", s, short(r.quantile(name, "writes/target", 0.5)), short(r.most(name, "reads/target")),
			short(r.quantile(name, "events/target", 0.5)), cpu("daemon"), cpu("writers"), cpu("manager-unlimited"))
	}
	b.WriteString(manyRestIntro)
	for _, s := range manyShapes(r, "Rest") {
		rest, start := manyAt("Rest", s, "daemon"), manyAt("Start", s, "daemon")
		fmt.Fprintf(&b, "| %s | %s | %s | %.4f | %s | %s s | %s | %s | %s | %s | %s | %s | %s |\n", s, size(r.most(rest, "resident-B")), size(r.most(rest, "peak-B")), r.least(rest, "cores"),
			short(r.most(rest, "requests")), short(r.least(rest, "s")), short(r.most(rest, "watches")), short(r.quantile(rest, "checks/s", 0.5)), short(r.most(rest, "goroutines")),
			r.time(start), short(r.most(start, "writes")), r.time(manyAt("First", s, "daemon")), size(r.most(manyAt("Rest", s, "manager-unlimited"), "resident-B")))
	}
	return part{prose: b.String(), targets: manyTargets(r)}
}

// manyTimes is the beginning of a row: the daemon's times, and those of the bare writers.
func manyTimes(r results, s manyShape, what string) string {
	ours, bare := manyAt(what, s, "daemon"), manyAt(what, s, "writers")
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %.2f", s, duration(r.quantile(ours, "first-ns/op", 0.5)), duration(r.quantile(ours, "half-ns/op", 0.5)),
		r.time(ours), r.time(bare), s.times(r, what))
}

// time is the median of a benchmark's time, nothing where it was not run.
func (r results) time(name string) string {
	if !r.has(name) {
		return ""
	}
	return duration(r.quantile(name, "ns/op", 0.5))
}
