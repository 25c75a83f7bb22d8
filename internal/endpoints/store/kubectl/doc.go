// Package kubectl is the store for machines that reach their cluster by kubectl
// only: it reads and writes the target's slices by running that program.
//
// In come the program, its environment, the target and the writes; out go the
// slices and the Service as they are. Every Load asks the server. A write is a
// create or a replace of a manifest on standard input that carries the
// resourceVersion it was computed from, so that the server refuses it when the
// slice has changed. It never uses --force, never deletes or patches, puts no
// more than names on a command line, and does not watch: it has to be loaded again
// from time to time.
//
// The rights it needs in the target's namespace, and no others:
//
//	apiGroups: ["discovery.k8s.io"]  resources: ["endpointslices"]
//	verbs: ["get", "list", "create", "update"]
//	apiGroups: [""]                  resources: ["services"]
//	verbs: ["get"]
package kubectl
