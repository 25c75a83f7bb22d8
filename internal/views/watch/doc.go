// Package watch keeps a cache current: it watches Services and
// EndpointSlices, of every namespace or of those named, and asks the server about
// what a new complete list leaves out. In: the access to an API server. Out: what the
// cache is told, and since when the watches tell nothing.
//
// Its rights are get, list and watch of services and of
// endpointslices.discovery.k8s.io. It writes nothing. Idle it costs no request but
// the watches.
package watch
