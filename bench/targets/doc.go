// Package targets measures one process that fills many Services: the built program with
// DOCUMENTS_DIR on a real API server. In the same run it measures the same number of
// bare writers (bench/writers), which only write, and the endpointslice controller of
// kube-controller-manager on as many Services with Pods, with its default limits and
// without. Then the same documents are compared as files and as objects of the API server,
// of which the program also writes the status. The package holds tests only. They measure
// nothing unless a flag asks for it:
//
//	go test -v -timeout 1h ./targets -form short
//
// What they print has the form of go test -bench; bench/report makes tables of it.
//
// Everything runs in a network namespace of its own, in which the address of each node
// answers until the node dies. All programs, the API server and the watch that sees the
// slices share the machine. CPU is that of the measured program alone.
package targets
