// Package kubectl is the store that runs kubectl, for machines where that is the
// way into the cluster. In come writes, out goes the state as kubectl prints it.
//
// It writes by create and replace, with the resourceVersion in the manifest as
// the fence and the manifest on standard input, never with --force, and it never
// deletes. It does not watch: whoever uses it loads again from time to time.
//
// The user that kubectl acts as needs, in the target's namespace: get on
// services; get, list, create and update on endpointslices of
// discovery.k8s.io.
package kubectl
