// Package watch keeps a cache and the fleets of xDS current: it watches Services and
// EndpointSlices, of every namespace or of those named, and asks the server about
// what a new complete list leaves out. In: the access to an API server. Out: what the
// cache is told, and since when the watches tell nothing. Envoys does the same for objects
// of kind Envoy: out comes what xds.Fleets is told, and why it is told nothing. Where the API
// server does not have the kind, that is told once, and asked for again.
//
// Its rights are get, list and watch of services, of endpointslices.discovery.k8s.io and of
// envoys.fleet.ablmnzde.github.io. It writes nothing. Idle it costs no request but the
// watches.
package watch
