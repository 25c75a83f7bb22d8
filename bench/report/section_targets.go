package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// manyAt names a benchmark of the package targets.
func manyAt(what string, s manyShape, side string) string {
	return fmt.Sprintf("Targets%s/targets=%d/endpoints=%d/side=%s", what, s.targets, s.endpoints, side)
}

// manyShape is a number of Services and of endpoints of each.
type manyShape struct{ targets, endpoints int }

// manyShapes are those at which this was measured, ascending.
func manyShapes(r results, what string) []manyShape { return manyShapesOf(r, what, "daemon") }

// manyShapesOf are those of a side.
func manyShapesOf(r results, what, of string) []manyShape {
	var shapes []manyShape
	for name := range r.runs {
		rest, found := strings.CutPrefix(name, "Targets"+what+"/targets=")
		targets, rest, _ := strings.Cut(rest, "/endpoints=")
		endpoints, side, _ := strings.Cut(rest, "/side=")
		n, err := strconv.Atoi(targets)
		m, wrong := strconv.Atoi(endpoints)
		if found && side == of && err == nil && wrong == nil {
			shapes = append(shapes, manyShape{n, m})
		}
	}
	slices.SortFunc(shapes, func(a, b manyShape) int {
		if a.endpoints != b.endpoints {
			return a.endpoints - b.endpoints
		}
		return a.targets - b.targets
	})
	return shapes
}

func (s manyShape) String() string {
	return number(float64(s.targets)) + " x " + number(float64(s.endpoints))
}

// times is the daemon's time by that of the bare writers, of the medians.
func (s manyShape) times(r results, what string) float64 {
	bare := r.quantile(manyAt(what, s, "writers"), "ns/op", 0.5)
	if bare == 0 {
		return 0
	}
	return r.quantile(manyAt(what, s, "daemon"), "ns/op", 0.5) / bare
}

// manyTargets are the goals. With few Services a single request is most of the time.
func manyTargets(r results) []target {
	var t rows
	for _, s := range []manyShape{{1000, 100}, {100, 1000}} {
		down, rest, start := manyAt("Down", s, "daemon"), manyAt("Rest", s, "daemon"), manyAt("Start", s, "daemon")
		if !r.has(down) || !r.has(rest) || !r.has(start) {
			continue
		}
		of := fmt.Sprintf("%s Services with %s endpoints: ", number(float64(s.targets)), number(float64(s.endpoints)))
		t.add(of+"a node dies, from the verdict to the last slice, median", "at most 1.2 times the bare writers'", fmt.Sprintf("%.2f times (%s, %s)",
			s.times(r, "Down"), duration(r.quantile(down, "ns/op", 0.5)), duration(r.quantile(manyAt("Down", s, "writers"), "ns/op", 0.5))), s.times(r, "Down") <= 1.2, r.unrest())
		writes, reads := r.most(down, "writes/target"), r.most(down, "reads/target")
		t.add(of+"requests for that", "1 write a slice, 0 reads", fmt.Sprintf("%s and %s", short(writes), short(reads)), writes == 1 && reads == 0, "")
		t.add(of+"memory", "at most 80 MB", size(r.most(rest, "resident-B")), r.most(rest, "resident-B") <= 80e6, "")
		t.add(of+"requests at rest, but for watches", "0", fmt.Sprintf("%s, in %s s", short(r.most(rest, "requests")), short(r.least(rest, "s"))), r.most(rest, "requests") == 0, "")
		t.add(of+"start until all slices are known to be right", "at most 2 s, 0 writes", fmt.Sprintf("%s, %s writes", duration(r.quantile(start, "ns/op", 0.5)), short(r.most(start, "writes"))),
			r.quantile(start, "ns/op", 0.5) <= 2e9 && r.most(start, "writes") == 0, r.unrest())
	}
	one, many := manyAt("Rest", manyShape{1, 100}, "daemon"), manyAt("Rest", manyShape{1000, 100}, "daemon")
	if r.has(one) && r.has(many) {
		more := r.least(many, "cores")/r.least(one, "cores") - 1
		t.add("1,000 Services: CPU at rest", "at most 5 % more than for one", fmt.Sprintf("%+.0f %% (%.4f and %.4f cores)", more*100, r.least(many, "cores"), r.least(one, "cores")), more <= 0.05, r.unrest())
		checks := r.least(many, "checks/s") / r.least(one, "checks/s")
		t.add("1,000 Services: checks", "as many as for one", fmt.Sprintf("%.2f times", checks), checks < 1.05, "")
		goroutines := r.most(many, "goroutines")
		t.add("1,000 Services: goroutines", "fewer than Services", short(goroutines), goroutines < 1000, "")
	}
	return t.all
}
