package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench"
)

// targets says which are met.
func targets(r results, outcomes []outcome) string {
	var b strings.Builder
	b.WriteString("## Targets\n\n| question | target | found | |\n|---|---|---|---|\n")
	add := func(question, target, found string, met bool) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", question, target, found, map[bool]string{true: "met", false: "**missed**"}[met])
	}
	for _, n := range []int{1_000, 10_000} {
		for _, change := range []string{"none", "replaced"} {
			times, allocs := r.ratio(n, change, "ns/op"), r.ratio(n, change, "allocs/op")
			subject := fmt.Sprintf("%s endpoints, change %s", number(float64(n)), change)
			add(subject+", time", "1/50 of upstream's", fmt.Sprintf("1/%.0f", times), times >= 50)
			if change == "none" {
				add(subject+", allocations", "1/100 of upstream's", fmt.Sprintf("1/%.0f", allocs), allocs >= 100)
				continue
			}
			written := r[key{n, change, "plan"}]["slices/op"]
			add(subject+", slices written", "1", number(written), written == 1)
		}
	}
	for _, o := range outcomes {
		needed := (o.history.Size + bench.MaxPerSlice - 1) / bench.MaxPerSlice
		if strings.Contains(o.history.Name, "replacements") {
			found := fmt.Sprintf("%d, upstream %d", o.ours.Used, o.upstream.Used)
			add(o.history.Name+": slices", fmt.Sprintf("%d, and not more than upstream", needed+1), found, o.ours.Used <= min(needed+1, o.upstream.Used))
			continue
		}
		add(o.history.Name+": slices", fmt.Sprintf("at most %d", 2*needed), fmt.Sprintf("%d, upstream %d", o.ours.Used, o.upstream.Used), o.ours.Used <= 2*needed)
		add(o.history.Name+": endpoints written", "fewer than upstream",
			fmt.Sprintf("%s, upstream %s", number(float64(o.ours.Written)), number(float64(o.upstream.Written))), o.ours.Written < o.upstream.Written)
	}
	return b.String()
}

// quiet reports whether the machine had less to do than would fill half of it.
func quiet(m machine) bool {
	load, err := strconv.ParseFloat(m.load, 64)
	return err == nil && load < float64(m.cores)/2
}

// number writes 12345 as 12,345.
func number(v float64) string {
	s := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// duration writes nanoseconds with three digits that count.
func duration(ns float64) string {
	switch {
	case ns >= 1e9:
		return strconv.FormatFloat(ns/1e9, 'g', 3, 64) + " s"
	case ns >= 1e6:
		return strconv.FormatFloat(ns/1e6, 'g', 3, 64) + " ms"
	case ns >= 1e3:
		return strconv.FormatFloat(ns/1e3, 'g', 3, 64) + " µs"
	}
	return number(ns) + " ns"
}
