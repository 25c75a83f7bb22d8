package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	out := flag.String("out", "../docs/reports", "folder of the report")
	count := flag.Int("count", 6, "runs of each benchmark; the report shows the fastest")
	benchtime := flag.String("benchtime", "0.3s", "time of one run of a benchmark")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := write(ctx, *out, *benchtime, *count)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write makes the whole report in the folder, or fails before it touches a file.
func write(ctx context.Context, out, benchtime string, count int) error {
	m, err := describe(ctx)
	if err != nil {
		return err
	}
	raw, err := runBenchmarks(ctx, benchtime, count)
	if err != nil {
		return err
	}
	results, err := parse(raw)
	if err != nil {
		return err
	}
	outcomes, err := runHistories()
	if err != nil {
		return err
	}
	files := map[string]string{
		"plan-benchmark.txt": raw,
		"plan-time.svg":      plotTime(results),
		"plan-slices.svg":    plotHistories("slices that hold endpoints", outcomes, used),
		"plan-written.svg":   plotHistories("endpoints written in all, thousands", outcomes, writtenThousands),
		"performance.md":     page(m, results, outcomes),
	}
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // a folder of documentation
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o644); err != nil { //nolint:gosec // documentation
			return err
		}
	}
	return nil
}
