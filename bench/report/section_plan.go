package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench"
)

// The benchmarks of a pass there are, in the order of the tables.
func sizes() []int      { return []int{10, 100, 1_000, 10_000} }
func changes() []string { return []string{"none", "replaced", "flipped", "rolled"} }
func impls() []string   { return []string{"upstream", "plan", "guard"} }

// pass names a benchmark.
func pass(endpoints int, change, impl string) string {
	return fmt.Sprintf("Pass/endpoints=%d/change=%s/impl=%s", endpoints, change, impl)
}

// ratio is how many times as much upstream needs as the plan does.
func ratio(r results, n int, change, unit string) float64 {
	return r.least(pass(n, change, "upstream"), unit) / r.least(pass(n, change, "plan"), unit)
}

// measurePlan runs the benchmarks and the histories.
func measurePlan(ctx context.Context, f form) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/endpointslice").Output()
	if err != nil {
		return "", fmt.Errorf("ask for the version of k8s.io/endpointslice: %w; run in the folder bench", err)
	}
	benchmarks, err := goTest(ctx, "-run", "^$", "-bench", ".", "-timeout", "1h",
		"-benchtime", f.benchtime, "-count", fmt.Sprint(f.count), ".")
	if err != nil {
		return "", err
	}
	histories, err := measureHistories()
	if err != nil {
		return "", err
	}
	return "endpointslice: " + string(out) + benchmarks + histories, nil
}

// histories are those of the report.
func histories() []bench.History {
	return []bench.History{
		bench.Replacements(100, 1_000), bench.Replacements(1_000, 1_000), bench.Replacements(10_000, 1_000),
		bench.Batches(5_000, 20), bench.Batches(5_000, 100), bench.Shrunk(5_000), bench.GrownBack(5_000),
	}
}

// measureHistories prints their tallies as a benchmark would. They are counted,
// not timed, so they run beside each other.
func measureHistories() (string, error) {
	all := histories()
	lines, errs := make([]string, len(all)), make([]error, len(all))
	slots := make(chan struct{}, runtime.NumCPU())
	var running sync.WaitGroup
	for i, h := range all {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			lines[i], errs[i] = measureHistory(h)
			fmt.Fprintf(os.Stderr, "history %d of %d: %s\n", i+1, len(all), h.Name)
		})
	}
	running.Wait()
	return strings.Join(lines, ""), errors.Join(errs...)
}

func measureHistory(h bench.History) (string, error) {
	var b strings.Builder
	for _, impl := range []string{"upstream", "plan"} {
		var side bench.Publisher = bench.NewOurs()
		if impl == "upstream" {
			side = bench.NewUpstream()
		}
		t, err := h.Run(side)
		if err != nil {
			return "", fmt.Errorf("%s: %w", impl, err)
		}
		fmt.Fprintf(&b, "Benchmark%s 1 %d used %d slices %d creates %d updates %d deletes %d endpoints-written\n",
			historyName(h, impl), t.Used, t.Slices, t.Creates, t.Updates, t.Deletes, t.Written)
	}
	return b.String(), nil
}

// historyName names a benchmark: it has no spaces.
func historyName(h bench.History, impl string) string {
	return fmt.Sprintf("History/of=%s/impl=%s", strings.NewReplacer(" ", "_", ",", "", "%", "percent").Replace(h.Name), impl)
}

func planTargets(r results) []target {
	var rows []target
	add := func(question, want, found string, met bool, reason string) {
		if met {
			reason = ""
		}
		rows = append(rows, target{question, want, found, met, reason})
	}
	for _, n := range []int{1_000, 10_000} {
		for _, change := range []string{"none", "replaced"} {
			times, allocs := ratio(r, n, change, "ns/op"), ratio(r, n, change, "allocs/op")
			subject := fmt.Sprintf("plan, %s endpoints, change %s", number(float64(n)), change)
			add(subject+": time", "1/50 of upstream's", fmt.Sprintf("1/%.0f", times), times >= 50, "")
			if change == "none" {
				add(subject+": allocations", "1/100 of upstream's", fmt.Sprintf("1/%.0f", allocs), allocs >= 100, "")
				continue
			}
			written := r.least(pass(n, change, "plan"), "slices/op")
			add(subject+": slices written", "1", number(written), written == 1, "")
		}
	}
	for _, h := range histories() {
		upstream, ours := historyName(h, "upstream"), historyName(h, "plan")
		used, theirs := r.least(ours, "used"), r.least(upstream, "used")
		needed := float64((h.Size + bench.MaxPerSlice - 1) / bench.MaxPerSlice)
		found := fmt.Sprintf("%s, upstream %s", number(used), number(theirs))
		if strings.Contains(h.Name, "replacements") {
			add(h.Name+": slices", fmt.Sprintf("%s, and not more than upstream", number(needed+1)), found, used <= min(needed+1, theirs), "")
			continue
		}
		add(h.Name+": slices", "at most "+number(2*needed), found, used <= 2*needed, "")
	}
	return rows
}
