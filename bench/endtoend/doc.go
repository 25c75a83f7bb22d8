// Package endtoend measures the built program between two real API servers, and
// beside it, in the same run, a bare watcher (bench/bare) and a poller made of
// kubectl. It holds tests only, which measure nothing unless they are asked to:
//
//	go test -v -timeout 1h ./endtoend -form short
//
// What they print has the form of go test -bench; bench/report makes tables of it.
//
// Everything runs in a network namespace of its own. Each address of 10.64.0.0/12
// answers there, so there are as many backends as nodes. CPU is that of the measured
// program alone, as the kernel accounts for each of its threads in nanoseconds. The
// API servers run on the same machine: their CPU is not counted, but they compete for
// the same cores.
package endtoend
