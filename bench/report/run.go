package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench"
)

// machine is where and with what was measured.
type machine struct {
	cpu, load, goVersion, kubernetes string
	cores                            int
}

func describe(ctx context.Context) (machine, error) {
	m := machine{cpu: "unknown", load: "unknown", goVersion: runtime.Version(), cores: runtime.NumCPU()}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/endpointslice").Output()
	if err != nil {
		return m, fmt.Errorf("ask for the version of k8s.io/endpointslice: %w; run in the folder bench", err)
	}
	m.kubernetes = strings.TrimSpace(string(out))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil && len(strings.Fields(string(load))) > 0 {
		m.load = strings.Fields(string(load))[0]
	}
	info, _ := os.ReadFile("/proc/cpuinfo") // only Linux has it
	for line := range strings.Lines(string(info)) {
		if name, model, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			m.cpu = strings.TrimSpace(model)
			break
		}
	}
	return m, nil
}

// runBenchmarks returns what go test prints, and shows it while it runs.
func runBenchmarks(ctx context.Context, benchtime string, count int) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", //nolint:gosec // the caller's own flags
		"-run", "^$", "-bench", ".", "-timeout", "1h",
		"-benchtime", benchtime, "-count", fmt.Sprint(count), ".")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run the benchmarks: %w", err)
	}
	return out.String(), nil
}

// outcome is one history on both sides.
type outcome struct {
	history        bench.History
	upstream, ours bench.Tally
}

func runHistories() ([]outcome, error) {
	histories := []bench.History{
		bench.Replacements(100, 1_000), bench.Replacements(1_000, 1_000), bench.Replacements(10_000, 1_000),
		bench.Batches(5_000, 20), bench.Batches(5_000, 100), bench.Shrunk(5_000), bench.GrownBack(5_000),
	}
	outcomes := make([]outcome, len(histories))
	for i, h := range histories {
		fmt.Fprintf(os.Stderr, "history %d of %d: %s\n", i+1, len(histories), h.Name)
		upstream, err := h.Run(bench.NewUpstream())
		if err != nil {
			return nil, fmt.Errorf("upstream: %w", err)
		}
		ours, err := h.Run(bench.NewOurs())
		if err != nil {
			return nil, fmt.Errorf("ours: %w", err)
		}
		outcomes[i] = outcome{h, upstream, ours}
	}
	return outcomes, nil
}
