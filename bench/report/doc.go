// Command report measures and writes bench/results/performance.md:
// go run ./report, in the folder bench.
//
// The page has sections, one for each question, listed in sections.go. A section
// measures and presents. The first yields lines as go test -bench prints them. The
// second turns such lines into prose and rows of the table of targets. The measured lines are kept beside the page as
// NAME-benchmark.txt, ready for benchstat, and the page is written from these files
// alone: -only NAME measures one section and leaves the figures of the others as they
// are, -only none writes the page again from the files.
//
// Progress goes to standard error.
package main
