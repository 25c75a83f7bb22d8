package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	out := flag.String("out", "results", "folder of the report")
	only := flag.String("only", "", "sections to measure, separated by commas; all when empty, none of them for none")
	f := form{}
	flag.BoolVar(&f.long, "long", os.Getenv("LONG") != "", "measure for longer, and more often")
	flag.IntVar(&f.count, "count", 4, "runs of each Go benchmark; the report shows the fastest")
	flag.StringVar(&f.benchtime, "benchtime", "0.2s", "time of one run of a Go benchmark")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := errors.Join(measure(ctx, f, *out, *only), write(*out))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// measure runs the sections and keeps what they print. One that fails does not
// keep the others from being measured.
func measure(ctx context.Context, f form, out, only string) error {
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // a folder of documentation
		return err
	}
	var errs []error
	before := load()
	for _, s := range sections() {
		if only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		started, head := time.Now(), describe(ctx, f, before)
		fmt.Fprintf(os.Stderr, "== %s\n", s.name)
		raw, err := s.measure(ctx, f)
		fmt.Fprintf(os.Stderr, "== %s: %v\n", s.name, time.Since(started).Round(time.Second))
		errs = append(errs, s.keep(out, head, raw, err))
	}
	return errors.Join(errs...)
}

// keep saves what the section measured. If the section failed, earlier figures stay.
// Without earlier figures it saves what was measured before the failure and marks
// that as incomplete.
func (s section) keep(out, head, raw string, failed error) error {
	_, nothing := parse(raw)
	if failed == nil {
		failed = nothing
	}
	if failed == nil {
		return save(out, s.raw(), head+raw)
	}
	failed = fmt.Errorf("section %s: %w", s.name, failed)
	if _, err := os.Stat(filepath.Join(out, s.raw())); err == nil || nothing != nil {
		return failed
	}
	return errors.Join(failed, save(out, s.raw(), head+"incomplete: yes\n"+raw))
}

// raw is the file of what the section measured.
func (s section) raw() string { return s.name + "-benchmark.txt" }

// write makes the page from what was measured, now or earlier.
func write(out string) error {
	var parts []part
	for _, s := range sections() {
		raw, err := os.ReadFile(filepath.Join(out, s.raw()))
		if errors.Is(err, os.ErrNotExist) {
			continue // never measured
		}
		if err != nil {
			return err
		}
		r, err := parse(string(raw))
		if err != nil {
			return fmt.Errorf("%s: %w", s.raw(), err)
		}
		p := s.present(r)
		parts = append(parts, p)
	}
	return save(out, "performance.md", page(parts))
}

func save(out, name, text string) error {
	return os.WriteFile(filepath.Join(out, name), []byte(text), 0o644) //nolint:gosec // documentation
}
