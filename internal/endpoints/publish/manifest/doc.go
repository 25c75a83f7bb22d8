// Package manifest translates between the slices of package publish and the
// EndpointSlices of the Kubernetes API.
//
// In come EndpointSlices and Services as an API server answers them, out go
// publish.State and the objects that carry a publish.Write. What an EndpointSlice says
// beyond publish.Slice is never lost: what others wrote (labels, annotations, owners,
// finalizers) survives in the object that is sent, what contradicts us becomes
// Drift or a Refusal.
//
// It is pure: no I/O, no state, and its inputs stay as they are.
package manifest
