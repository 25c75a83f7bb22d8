// Package publish turns a verdict into slices and the difference between two sets
// of slices into the smallest set of writes.
//
// In come members, and the EndpointSlices and Services of the Kubernetes API as a store has
// them; out go the slices as they should be, the writes that lead there, and the objects
// that carry them. What an EndpointSlice says beyond Slice is never lost: what others wrote
// (labels, annotations, owners, finalizers) survives in the object that is sent, what
// contradicts us becomes Drift or a Refusal.
//
// It is pure: no I/O, no clock, no order that depends on the input's, and its inputs stay
// as they are.
package publish
