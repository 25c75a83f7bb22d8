// Package views tells a program which endpoints stand behind which Service and port
// of a Kubernetes cluster, at any moment. It is for programs that configure a proxy,
// a mesh or a DNS server. It needs the standard library alone.
//
// In: the address of an endpoint-views server. Out: Events, or calls of a
// Reconciler. It writes nothing, and never takes an endpoint away because the server
// was away: the last state is kept until the server says otherwise.
package views
