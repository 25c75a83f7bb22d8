// Package conditions says how a fleet is. In: an Envoy, its Deployment and Pods, what these
// said to endpoint-views, what became of the objects of the fleet. Out: the status of the
// Envoy. It makes no request.
package conditions
