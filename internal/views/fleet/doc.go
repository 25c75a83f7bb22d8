// Package fleet is the operator of the kind Envoy. In: Envoys, their objects and Pods as
// watches tell of them, what the Pods said to endpoint-views. Out: the objects of each
// fleet, and its status.
//
// Drain runs in the Pods of a fleet: it ends one Envoy when nothing is active in it.
//
// It deletes nothing: what has lost its Envoy is collected by Kubernetes. It never touches an
// object that has no reference to the Envoy, whatever its name.
package fleet
