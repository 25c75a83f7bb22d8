// Package views measures the built endpoint-views on a real API server, and beside it,
// of the same writes, a bare informer (bench/informer). It holds tests only, which
// measure nothing unless they are asked to:
//
//	go test -v -timeout 1h ./views -form short
//
// What they print is what go test -bench prints; bench/report makes tables of it. Both
// programs, the API server and all readers share the machine.
package views
