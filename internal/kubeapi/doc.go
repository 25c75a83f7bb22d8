// Package kubeapi makes small clients of a Kubernetes API server. In: the way to
// the server and the few types that the client shall know. Out: a REST client
// with connections of its own, so that neither a full connection nor a closed
// one of another client is felt.
//
// It sends each request once and at once: it has no queue and repeats nothing.
// Who asks decides whether the request is still right a second later. The whole
// clientset, which knows every type, costs the program twelve megabytes.
package kubeapi
