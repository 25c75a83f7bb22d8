// Package bench compares the code that plans our slices with the code that plans
// those of the control plane: the reconciler of k8s.io/endpointslice, as a library.
//
// Input is one fleet of backends after another. Output is the writes of each side and
// the slices after them. Both sides get the same fleets. There is no API server: the
// cost of a write is counted, not timed.
package bench
