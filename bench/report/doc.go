// Command report measures and writes bench/results/performance.md with its plots:
// go run ./report, in the folder bench.
//
// The page has sections, one for each question, listed in sections.go. A section
// measures, which yields lines as go test -bench prints them, and presents, which
// turns such lines into prose, plots, rows of the table of targets and curves for
// the section on growth. What it measured is kept beside the page as
// NAME-benchmark.txt, ready for benchstat, and the page is written from these
// files alone: -only NAME measures one section and leaves the figures of the
// others as they are, -only none writes the page anew from what there is.
//
// Progress goes to standard error.
package main
