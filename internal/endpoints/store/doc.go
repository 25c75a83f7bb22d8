// Package store has the two stores of one target that are no client of an API server.
// The store that is one is package cluster, below.
//
// Memory is the store of the local dry run. In come the target, what its Service looks
// like, and the writes; out go the slices, as a store answers them and as YAML documents,
// which it prints whenever a slice changes. It behaves as an API server does where that
// matters: every change makes a new resourceVersion, an update needs the version it was
// computed from, and a create of what exists is a conflict. It sends no request and
// forgets everything when it ends.
//
// Kubectl is the store for machines that reach their cluster by kubectl only: it reads
// and writes the target's slices by running that program. In come the program, its
// environment, the target and the writes; out go the slices and the Service as they are.
// It does not watch: every Load asks the server. A write is a create or a replace of a manifest on standard
// input that carries the resourceVersion it was computed from, so that the server refuses
// it when the slice has changed. It never uses --force, never deletes or patches, and puts
// no more than names on a command line.
//
// The rights that Kubectl needs in the target's namespace, and no others:
//
//	apiGroups: ["discovery.k8s.io"]  resources: ["endpointslices"]
//	verbs: ["get", "list", "create", "update"]
//	apiGroups: [""]                  resources: ["services"]
//	verbs: ["get"]
package store
