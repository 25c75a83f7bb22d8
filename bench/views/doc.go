// Package views measures the built endpoint-views on a real API server. Beside it a
// bare informer (bench/informer) watches the same writes, and beside its xDS a bare server
// (bench/linear). The package holds tests only. They measure nothing unless a flag asks for it:
//
//	go test -v -timeout 1h ./views -form short
//
// What they print has the form of go test -bench; bench/report makes tables of it.
// Both programs, the API server and all readers share the machine.
package views
