package main

import (
	"fmt"
	"slices"
	"strings"
)

// The carriers of documents, as the package targets calls its sides.
const (
	asFiles   = "files"
	asObjects = "objects"
)

const carriersIntro = `## Bindings in the API server

Services as above, the same pool and a binding for each Service, once as files and once as objects of the API server (` + "`DOCUMENTS_API`" + `). Of objects the program also writes the status, after the slices. *Early* are those written before the last slice; the time is from the last slice to the last status.

%s| Services x endpoints | memory, files | objects | start, files | objects | requests at rest | a node dies: statuses for each binding | early | time | it comes back: statuses | early | time |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`

// carriedShapes are those at which both carriers were measured.
func carriedShapes(r results) []manyShape {
	return slices.DeleteFunc(manyShapesOf(r, "StatusDown", asObjects), func(s manyShape) bool {
		return !r.has(manyAt("Rest", s, asFiles)) || !r.has(manyAt("Rest", s, asObjects))
	})
}

func presentCarriers(r results) part {
	var b strings.Builder
	fmt.Fprintf(&b, carriersIntro, r.measuredOn())
	for _, s := range carriedShapes(r) {
		memory := func(carrier string) string { return size(r.most(manyAt("Rest", s, carrier), "resident-B")) }
		statuses := func(what string) string {
			name := manyAt(what, s, asObjects)
			return fmt.Sprintf("%s | %s | %s", short(r.most(name, "statuses/target")), short(r.most(name, "early")), r.time(name))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", s, memory(asFiles), memory(asObjects), r.time(manyAt("Start", s, asFiles)), r.time(manyAt("Start", s, asObjects)),
			short(r.most(manyAt("Rest", s, asObjects), "requests")), statuses("StatusDown"), statuses("StatusUp"))
	}
	return part{prose: b.String(), targets: carrierTargets(r)}
}

// carrierTargets are the goals for objects.
func carrierTargets(r results) []target {
	var t rows
	for _, s := range carriedShapes(r) {
		of, down := fmt.Sprintf("%s bindings in the API server: ", number(float64(s.targets))), manyAt("StatusDown", s, asObjects)
		most, early := r.most(down, "statuses/target"), r.most(down, "early")
		t.add(of+"statuses written for a node's death", "1 each, none before the last slice", fmt.Sprintf("%s each, %s before", short(most), short(early)), most == 1 && early == 0, "")
		files, objects := r.most(manyAt("Rest", s, asFiles), "resident-B"), r.most(manyAt("Rest", s, asObjects), "resident-B")
		t.add(of+"memory", "at most 10 MB more than as files", fmt.Sprintf("%+.3g MB (%s, %s)", (objects-files)/1e6, size(objects), size(files)), objects-files <= 10e6, "")
	}
	return t.all
}
