// Package kubernetes is the source that watches the nodes of the remote cluster.
// In come a kubeconfig and a label selector, out go the nodes as the remote API
// server tells of them.
//
// Run holds one watch; Read answers from what it has told, so that a poll costs
// no request and a change is known in milliseconds. What is told is trusted
// while the watch is open, and for a short grace after it closed, in which it is
// normally open again. After that Read is an error until a complete list has
// been received anew: what may be out of date is never passed off as a read.
//
//	watch                                     Read
//	before the first complete list            waits for it, or says what is wrong
//	open                                      the nodes
//	closed for less than the grace            the nodes
//	closed for longer                         StaleError, until a new complete list
//
// A node becomes an inventory.Node by a pure function; the status updates by
// which a kubelet shows that it lives change nothing there, so they are no news.
//
// The source never writes. The rights it needs, cluster-wide:
//
//	apiGroups: [""]  resources: ["nodes"]  verbs: ["get", "list", "watch"]
package kubernetes
