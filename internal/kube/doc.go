// Package kube is the one way to a Kubernetes API server. In: the access, as
// files say it, and requests for objects of the kinds that this program knows. Out:
// the answers, and errors that say whether the whole server is unavailable and that
// hold no credential.
//
// A Client sends each request once and at once: it has no queue and repeats nothing
// that the server may have seen. The caller decides whether the request is still right
// a second later. Each Client has connections of its own, so that neither a full
// connection nor a closed one of another Client is felt, and reads its access again
// when the files change. It follows no redirect, because client-go would carry the
// credentials along. It never logs, once main has called Silence.
//
// The whole clientset, which knows every kind, costs the program twelve megabytes.
package kube
