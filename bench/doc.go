// Package bench compares what plans our slices with what plans those of the
// control plane: the reconciler of k8s.io/endpointslice, as a library.
//
// In goes one fleet of backends after another; out come what each side writes
// and what its slices are like then. Both get the same fleets. There is no API
// server: what a write costs is counted, not timed.
package bench
