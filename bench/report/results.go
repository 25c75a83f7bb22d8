package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are what benchmarks printed.
type results struct {
	// runs holds the values of every run by the benchmark's name (without
	// "Benchmark" and the number of cores) and the unit.
	runs map[string]map[string][]float64
	// says holds the lines "key: value".
	says map[string]string
}

var (
	line    = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(\S.*)$`)
	setting = regexp.MustCompile(`^([a-z][a-z-]*): (.*)$`)
)

// parse reads what go test -bench prints.
func parse(raw string) (results, error) {
	r := results{map[string]map[string][]float64{}, map[string]string{}}
	for text := range strings.Lines(raw) {
		text = strings.TrimSpace(text)
		if found := setting.FindStringSubmatch(text); found != nil {
			r.says[found[1]] = found[2]
			continue
		}
		found := line.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		if r.runs[found[1]] == nil {
			r.runs[found[1]] = map[string][]float64{}
		}
		fields := strings.Fields(found[2])
		for i := 0; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return results{}, fmt.Errorf("parse %q: %w", text, err)
			}
			r.runs[found[1]][fields[i+1]] = append(r.runs[found[1]][fields[i+1]], value)
		}
	}
	if len(r.runs) == 0 {
		return results{}, errors.New("parse the benchmarks: there is none in what was printed")
	}
	return r, nil
}

// has reports whether the benchmark was run.
func (r results) has(name string) bool { return len(r.runs[name]) > 0 }

// least is the smallest value of all runs: other work of the machine only adds to a
// time. It is 0 where there is no value.
func (r results) least(name, unit string) float64 {
	if values := r.runs[name][unit]; len(values) > 0 {
		return slices.Min(values)
	}
	return 0
}

// most is of all runs, 0 where there is none.
func (r results) most(name, unit string) float64 {
	if values := r.runs[name][unit]; len(values) > 0 {
		return slices.Max(values)
	}
	return 0
}

// quantile is the value that a share q of the runs does not exceed; 0.5 is the
// median. It is 0 where there is no run.
func (r results) quantile(name, unit string, q float64) float64 {
	values := slices.Sorted(slices.Values(r.runs[name][unit]))
	if len(values) == 0 {
		return 0
	}
	return values[min(int(q*float64(len(values))), len(values)-1)]
}
