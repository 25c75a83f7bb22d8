// Package join joins Services and EndpointSlices: which endpoints stand behind which
// port of which Service, and what may be sent to them. In: a Service and all slices
// that name it, whichever program wrote them. Out: its endpoints, each once and sorted, and
// what changed between two joins.
//
// The rules are kube-proxy's, so that a proxy that follows the views sends where
// kube-proxy would:
//
//	a port of a slice      belongs to the port of the Service of its name and protocol
//	no number              the port is left out, and so is one that is below 1 or above 65535
//	family                 of a family that the Service does not have: left out
//	several addresses      the first counts
//	ready not said         ready
//	serving not said       serving
//	terminating not said   not terminating
//	nothing ready          of a family: what serves and terminates counts as ready
//	an address twice       what does not terminate wins, of that what is ready
//
// Unlike kube-proxy it also joins headless Services, and it knows no topology: hints
// for zones and nodes, and policies that prefer local endpoints, change nothing.
//
// Everything is values: nothing here waits, logs, or changes what it was given.
package join
