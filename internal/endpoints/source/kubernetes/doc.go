// Package kubernetes is the source that watches the nodes of the remote cluster.
// In come a kubeconfig and a label selector, out go the nodes of the remote API
// server.
//
// Run holds one watch; Read answers from its nodes, so that a poll costs no request
// and a change is known in milliseconds. The nodes are trusted while the watch is
// open, and for a short grace after it closed, in which it is normally open again.
// After that Read is an error until a complete list has been received again: nodes
// that may be out of date are never returned.
//
//	watch                                     Read
//	before the first complete list            waits for it, or says what is wrong
//	open                                      the nodes
//	closed for less than the grace            the nodes
//	closed for longer                         an error, until a new complete list
//
// A pure function makes an inventory.Node of a node. Heartbeats of the kubelet
// change nothing there.
//
// The source never writes. The rights it needs, cluster-wide:
//
//	apiGroups: [""]  resources: ["nodes"]  verbs: ["get", "list", "watch"]
package kubernetes
