// Package listeners watches objects of kind Envoy and tells which listeners their fleets
// have. In: the access to an API server. Out: what xds.Fleets is told, and why it is told
// nothing.
//
// Its rights are get, list and watch of envoys.fleet.ablmnzde.github.io. It writes nothing.
// Where the API server does not have the kind, that is told once, and asked for again.
package listeners
