package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// measureTests runs the tests of a package that measure, and keeps their lines of
// benchmarks.
func measureTests(pkg, tests string) func(context.Context, form) (string, error) {
	return func(ctx context.Context, f form) (string, error) {
		name := "short"
		if f.long {
			name = "long"
		}
		out, err := goTest(ctx, "-v", "-count", "1", "-timeout", "3h", "-run", tests, pkg, "-form", name)
		var b strings.Builder
		for text := range strings.Lines(out) {
			if strings.HasPrefix(text, "Benchmark") {
				b.WriteString(text)
			}
		}
		return b.String(), err
	}
}

// at names a benchmark of the package endtoend.
func at(what string, nodes int, side string) string {
	return fmt.Sprintf("%s/nodes=%d/side=%s", what, nodes, side)
}

// sizesOf are the numbers of nodes at which this was measured.
func sizesOf(r results, what, side string) []int {
	var sizes []int
	for name := range r.runs {
		rest, found := strings.CutPrefix(name, what+"/nodes=")
		number, of, _ := strings.Cut(rest, "/side=")
		if n, err := strconv.Atoi(number); found && of == side && err == nil {
			sizes = append(sizes, n)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// pollInterval is the shortest time between two reads in seconds: the default of
// SOURCE_POLL_INTERVAL, less its jitter. Each of them is decided on.
const pollInterval = 27.0

// rows collects the rows of the table of targets.
type rows struct {
	all []target
}

// add adds a row; the reason is for when it is missed.
func (t *rows) add(question, want, found string, met bool, reason string) {
	if met {
		reason = ""
	}
	t.all = append(t.all, target{question, want, found, met, reason})
}

func endToEndTargets(r results) []target {
	var t rows
	ours, bare, cost := at("Change", 1_000, "daemon"), at("Change", 1_000, "bare"), at("ChangeCost", 1_000, "daemon")
	if r.has(ours) && r.has(bare) {
		ratio := func(unit string) float64 { return r.quantile(ours, unit, 0.5) / r.quantile(bare, unit, 0.5) }
		t.add("change to slice, 1,000 nodes: median", "at most 1.2 times the bare watcher's",
			fmt.Sprintf("%.2f times (%s, %s); %.2f times from the answer to the node's change on", ratio("ns/op"),
				duration(r.quantile(ours, "ns/op", 0.5)), duration(r.quantile(bare, "ns/op", 0.5)), ratio("answered-ns/op")),
			ratio("ns/op") <= 1.2, "")
		writes, reads := r.least(cost, "writes/op"), r.least(cost, "local-reads/op")+r.least(cost, "remote-requests/op")
		t.add("change to slice, 1,000 nodes: requests", "1 write, 0 reads",
			fmt.Sprintf("%s slice write, %s reads; %s Events beside it", short(writes), short(reads), short(r.least(cost, "events/op"))),
			writes == 1 && reads == 0, "")
	}
	beat := at("Heartbeat", 1_000, "daemon")
	if r.has(beat) {
		t.add("a node's heartbeat, 1,000 nodes: CPU", "at most 0.3 ms", fmt.Sprintf("%s (bare watcher %s)",
			duration(r.least(beat, "cpu-ns/op")), duration(r.least(at("Heartbeat", 1_000, "bare"), "cpu-ns/op"))), r.least(beat, "cpu-ns/op") <= 300_000, "")
		decisions, more := r.most(beat, "decisions"), r.most(beat, "writes")+r.most(beat, "requests")
		scheduled := math.Ceil(r.most(beat, "s") / pollInterval)
		t.add("a node's heartbeat: decisions, writes", "0 but for the scheduled reads", fmt.Sprintf("%s decisions (scheduled: at most %s), %s writes and requests, in %s s",
			short(decisions), short(scheduled), short(more), short(r.most(beat, "s"))), more == 0 && decisions <= scheduled, "")
	}
	if steady := at("Steady", 1_000, "daemon"); r.has(steady) {
		more := r.most(steady, "writes") + r.most(steady, "events") + r.most(steady, "reads")
		t.add("steady state, 1,000 nodes: requests but watches and the lease", "0", fmt.Sprintf("%s, in %s s", short(more), short(r.least(steady, "s"))), more == 0, "")
	}
	for _, limit := range []struct {
		nodes int
		most  float64
	}{{100, 35e6}, {1_000, 50e6}, {10_000, 120e6}} {
		name := at("Steady", limit.nodes, "daemon")
		if !r.has(name) {
			continue
		}
		resident := max(r.most(name, "first-resident-B"), r.most(name, "resident-B"))
		t.add(fmt.Sprintf("memory at %s nodes, resident", number(float64(limit.nodes))), "at most "+size(limit.most),
			fmt.Sprintf("%s, peak %s", size(resident), size(r.most(name, "peak-B"))), resident <= limit.most, "see Memory")
	}
	if start := at("Start", 3, "daemon") + "/check=tcp"; r.has(start) {
		median := r.quantile(start, "ns/op", 0.5)
		t.add("exec to first write, 3 nodes, health check on", "at most 300 ms beyond the probe",
			fmt.Sprintf("%s with the probe (at most %s; without health check %s)", duration(median), duration(r.most(start, "ns/op")),
				duration(r.quantile(at("Start", 3, "daemon")+"/check=off", "ns/op", 0.5))), median <= 300e6, "")
	}
	return t.all
}
