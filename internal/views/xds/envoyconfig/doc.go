// Package envoyconfig translates endpoint views into the resources of xDS. In: Services,
// their endpoints as a join found them, the listeners of a fleet, settings. Out: clusters,
// load assignments, listeners and route configurations, for clients of gRPC and for
// Envoy.
//
// The rules for endpoints:
//
//	ready                     HEALTHY
//	draining                  DRAINING
//	down                      left out
//	weight of a zone          its number of ready endpoints
//	zone without ready ones   left out
//	no endpoint               an assignment without endpoints, never no assignment
//	two families              those of the Service's first one, unless only the other
//	                          has ready ones
//
// A cluster does not depend on endpoints, so that no change of endpoints makes a proxy
// build its cluster anew. Only ports of TCP are translated.
//
// What a fleet is to do is read here too, from an object of kind Envoy or the file of fleets:
// out come its listeners, or every mistake with its rule and remedy. Of a fleet with a mistake
// nothing counts. What the API server refuses is refused here, too, because the definition of
// the kind may be an older one, and a file has none.
//
// Everything is values: nothing here waits, logs, or changes what it was given. The same
// input gives the same bytes.
package envoyconfig
