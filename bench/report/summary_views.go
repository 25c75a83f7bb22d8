package main

import (
	"fmt"
	"strings"
)

const summaryIntro = `### In short

*Δ-controller* is its EndpointSlice operator, measured on two cores in another run: its figures say how large a difference is, not how large exactly.

| question | endpoint-views | bare informer | Δ-controller |
|---|---:|---:|---:|
`

// viewsSummary has a row for each question, with what others need for the same.
func viewsSummary(r results) string {
	var b strings.Builder
	b.WriteString(summaryIntro)
	row := func(question, ours, bare, other string) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", question, ours, bare, other)
	}
	for _, n := range viewsSizes(r) {
		ours, bare := viewsAt("ViewsChange", n, 1, "views"), viewsAt("ViewsChange", n, 1, "bare")
		row(fmt.Sprintf("a change at %s endpoints, write to the consumer's line, median", number(float64(n))),
			duration(r.quantile(ours, "ns/op", 0.5)), duration(r.quantile(bare, "ns/op", 0.5)), "5 to 69 ms")
	}
	for _, n := range viewsSizes(r) {
		ours, bare := viewsAt("ViewsBurst", n, 1, "views"), viewsAt("ViewsBurst", n, 1, "bare")
		of := func(name string) string {
			return fmt.Sprintf("%s, %s a second", duration(r.quantile(name, "ns/op", 0.5)), number(r.quantile(name, "events/s", 0.5)))
		}
		row(fmt.Sprintf("%s endpoints change at once: the last line", number(float64(n))), of(ours), of(bare), map[int]string{10_000: "12 s"}[n])
	}
	for _, n := range viewsSizes(r) {
		readers, ours := readersAt(r, n)
		row(fmt.Sprintf("memory at %s endpoints with %s readers", number(float64(n)), readers), ours,
			size(r.most(viewsAt("ViewsMemory", n, 1, "bare"), "resident-B")), map[int]string{1_000: "92 MB", 10_000: "164 MB at 5,000"}[n])
	}
	for _, n := range viewsSizes(r) {
		flips := viewsAt("ViewsFlips", n, 1, "views")
		row(fmt.Sprintf("100 quick changes of one of %s endpoints: the last line after the last write", number(float64(n))), duration(r.most(flips, "after-write-ns/op")), duration(r.most(flips, "bare-after-write-ns/op")), "3.1 s")
	}
	for _, n := range viewsSizes(r) {
		ours, bare := viewsAt("ViewsOutage", n, 1, "views"), viewsAt("ViewsOutage", n, 1, "bare")
		if r.has(ours) {
			row(fmt.Sprintf("the API server was away for %s, %s endpoints: a change after its return", duration(r.most(ours, "away-ns/op")), number(float64(n))),
				duration(r.most(ours, "ns/op")), duration(r.most(bare, "ns/op")), "23 to 82 s")
		}
	}
	requests, length := idleOf(r)
	row(fmt.Sprintf("requests in %s s without a change, but for watches", number(length)), short(requests), "", "")
	return b.String()
}

// viewsSizes are the numbers of endpoints at which changes were measured.
func viewsSizes(r results) []int {
	var sizes []int
	for _, c := range viewsCases(r, "ViewsChange") {
		if c.readers == 1 {
			sizes = append(sizes, c.endpoints)
		}
	}
	return sizes
}

// readersAt are the numbers of readers, and the memory with each.
func readersAt(r results, endpoints int) (readers, memory string) {
	var counts, sizes []string
	for _, c := range viewsCases(r, "ViewsMemory") {
		if c.endpoints == endpoints {
			counts = append(counts, number(float64(c.readers)))
			sizes = append(sizes, size(r.most(viewsAt("ViewsMemory", c.endpoints, c.readers, "views"), "resident-B")))
		}
	}
	return strings.Join(counts, " / "), strings.Join(sizes, " / ")
}

// idleOf is how many requests there were in how many seconds without a change.
func idleOf(r results) (requests, length float64) {
	for _, c := range viewsCases(r, "ViewsIdle") {
		name := viewsAt("ViewsIdle", c.endpoints, c.readers, "views")
		requests, length = requests+r.most(name, "requests"), length+r.most(name, "s")
	}
	return requests, length
}
