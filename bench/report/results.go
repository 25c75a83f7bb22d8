package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// key is one benchmark.
type key struct {
	endpoints    int
	change, impl string
}

// results are the least that each benchmark needed in any run, by unit: whatever
// else the machine does only adds to it.
type results map[key]map[string]float64

var line = regexp.MustCompile(`^BenchmarkPass/endpoints=(\d+)/change=(\w+)/impl=(\w+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// parse reads what go test -bench prints.
func parse(raw string) (results, error) {
	all := map[key]map[string][]float64{}
	for text := range strings.Lines(raw) {
		found := line.FindStringSubmatch(strings.TrimSpace(text))
		if found == nil {
			continue
		}
		n, err := strconv.Atoi(found[1])
		if err != nil {
			return nil, fmt.Errorf("parse %q: %w", text, err)
		}
		k := key{n, found[2], found[3]}
		if all[k] == nil {
			all[k] = map[string][]float64{}
		}
		fields := strings.Fields(found[4])
		for i := 0; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("parse %q: %w", text, err)
			}
			all[k][fields[i+1]] = append(all[k][fields[i+1]], value)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("parse the benchmarks: there is none in what go test printed")
	}
	least := results{}
	for k, units := range all {
		least[k] = map[string]float64{}
		for unit, values := range units {
			least[k][unit] = slices.Min(values)
		}
	}
	return least, nil
}

// ratio is how many times as much upstream needs as the plan does.
func (r results) ratio(n int, change, unit string) float64 {
	return r[key{n, change, "upstream"}][unit] / r[key{n, change, "plan"}][unit]
}
