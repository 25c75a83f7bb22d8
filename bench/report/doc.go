// Command report runs the benchmarks and the histories of the module bench and
// writes docs/reports/performance.md with its plots: go run ./report, in bench.
//
// Progress goes to standard error. It measures nothing itself.
package main
