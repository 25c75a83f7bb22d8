// Package xds serves endpoint views as xDS: by the delta protocol to Envoy, by the state
// of the world to clients of gRPC. In: the Services of a cache, the listeners of
// fleets, who may see what. Out: streams of clusters, assignments, listeners and routes,
// and what became of them at each client.
//
// It listens once the first join is made: an empty answer would take away what a proxy
// has. Endpoints are sent at once. A fleet gets what its routes need before these, and
// keeps what they needed until its proxies have acknowledged routes without it.
//
// A client is the name in its certificate. What it may not see does not exist for it,
// whether it asks by name or for everything.
package xds
