// Package cluster is the store in a Kubernetes API server, for any number of targets. A
// Hub watches Services and EndpointSlices: of each namespace that it is told of, or of one
// Service alone. For each target it hands out a Store, which
// answers Load from what the watches say, and writes slices by create and update.
//
// In come the access, targets and writes; out go the slices and the Service of each
// target as they are, and Local of all Services. Steady state costs no request but
// the watches. What a write answered is seen by the next Load even if the watch lags,
// and a write that failed, or a slice that a list leaves out, makes the next Load of that
// target ask the server about that slice. An update always carries the
// resourceVersion it was computed from; nothing is ever deleted or patched, and no slice
// of another name is touched.
//
// The rights it needs, in each watched namespace, and no others:
//
//	apiGroups: ["discovery.k8s.io"]  resources: ["endpointslices"]
//	verbs: ["list", "watch", "create", "update"]
//	apiGroups: [""]                  resources: ["services"]
//	verbs: ["list", "watch"]
//
// Where there is one target alone, "update" may be limited to the target's slice names
// by resourceNames, and the verbs on services to the name of the Service. "get" is not
// needed: one slice is read by a list with a field selector, whose answer also says at
// which revision the slice was absent.
package cluster
