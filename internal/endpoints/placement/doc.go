// Package placement follows Services of the remote cluster: on which nodes their Pods
// are. In come a kubeconfig and the names of Services, out goes for each the newest
// complete placement, from a cache.
//
// In each namespace with a Service that is followed, one watch of EndpointSlices and one
// of Services run. At rest no other request is sent. Of each object in the namespace the
// name is kept, and what a placement needs of it: of a slice the names of nodes, of a
// Service its policy and its nodePorts.
//
//	an endpoint                              its node
//	ready, or not said                       has a ready Pod
//	terminating, and serving                 has a Pod that ends and still serves
//	serving not said                         as ready says
//	anything else                            is not named
//	no nodeName                              names no node; told where no other one does
//
// Whether a placement is current is what the watches say: before the first complete list,
// and where one has told nothing for too long, there is an error in its place.
//
// The package never writes. The rights it needs, in each namespace:
//
//	apiGroups: ["discovery.k8s.io"]  resources: ["endpointslices"]  verbs: ["list", "watch"]
//	apiGroups: [""]                  resources: ["services"]        verbs: ["list", "watch"]
package placement
