package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// viewsAt names a benchmark of the package views.
func viewsAt(what string, endpoints, readers int, side string) string {
	return fmt.Sprintf("%s/endpoints=%d/readers=%d/side=%s", what, endpoints, readers, side)
}

// viewsCase is a number of endpoints and of readers.
type viewsCase struct{ endpoints, readers int }

// viewsCases are those at which this was measured, ascending.
func viewsCases(r results, what string) []viewsCase {
	var cases []viewsCase
	for name := range r.runs {
		rest, found := strings.CutPrefix(name, what+"/endpoints=")
		endpoints, rest, _ := strings.Cut(rest, "/readers=")
		readers, of, _ := strings.Cut(rest, "/side=")
		n, err := strconv.Atoi(endpoints)
		if !found || of != "views" || err != nil {
			continue
		}
		if count, err := strconv.Atoi(readers); err == nil {
			cases = append(cases, viewsCase{n, count})
		}
	}
	slices.SortFunc(cases, func(a, b viewsCase) int {
		if a.endpoints != b.endpoints {
			return a.endpoints - b.endpoints
		}
		return a.readers - b.readers
	})
	return cases
}

// ratio is ours by the bare informer's: of the medians.
func (c viewsCase) ratio(r results, what, unit string) float64 {
	bare := r.quantile(viewsAt(what, c.endpoints, c.readers, "bare"), unit, 0.5)
	if bare == 0 {
		return 0
	}
	return r.quantile(viewsAt(what, c.endpoints, c.readers, "views"), unit, 0.5) / bare
}

func viewsTargets(r results) []target {
	var t rows
	for _, limit := range []struct {
		viewsCase
		most float64
	}{{viewsCase{1_000, 1}, 10e6}, {viewsCase{10_000, 1}, 30e6}} {
		name := viewsAt("ViewsChange", limit.endpoints, limit.readers, "views")
		if r.has(name) {
			median := r.quantile(name, "ns/op", 0.5)
			t.add(fmt.Sprintf("views: write to the consumer's line, %s endpoints: median", number(float64(limit.endpoints))), "at most "+duration(limit.most),
				fmt.Sprintf("%s, %.2f times the bare informer's", duration(median), limit.ratio(r, "ViewsChange", "ns/op")), median <= limit.most, r.unrest())
		}
	}
	if name := viewsAt("ViewsMemory", 10_000, 50, "views"); r.has(name) {
		t.add("views: memory at 10,000 endpoints with 50 readers", "at most 100 MB", size(r.most(name, "resident-B")), r.most(name, "resident-B") <= 100e6, "")
	}
	for _, c := range viewsCases(r, "ViewsFlips") {
		after := r.most(viewsAt("ViewsFlips", c.endpoints, c.readers, "views"), "after-write-ns/op")
		t.add(fmt.Sprintf("views: 100 quick changes of one of %s endpoints: the last line after the last write", number(float64(c.endpoints))), "at most 100 ms",
			duration(after), after <= 100e6, r.unrest())
	}
	requests, length := idleOf(r)
	if length > 0 {
		t.add("views: requests when idle, but for watches", "0", fmt.Sprintf("%s, in %s s", short(requests), number(length)), requests == 0, "")
	}
	return t.all
}

// unrest is the reason of a time that is missed on a machine that was not at rest.
func (r results) unrest() string {
	if r.busy() {
		return "the machine was not at rest"
	}
	return ""
}

// idleOf is how many requests there were in how many seconds without a change.
func idleOf(r results) (requests, length float64) {
	for _, c := range viewsCases(r, "ViewsIdle") {
		name := viewsAt("ViewsIdle", c.endpoints, c.readers, "views")
		requests, length = requests+r.most(name, "requests"), length+r.most(name, "s")
	}
	return requests, length
}
