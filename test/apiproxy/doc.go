// Package apiproxy stands before a real API server and, when told to, is slow,
// full, broken, deaf or gone, loses answers, cuts watches, lets writes run into
// conflicts, and calls the test at a named point of a request, so that the test
// can kill a program exactly there.
//
// A program reaches it by a kubeconfig that [Proxy.Kubeconfig] writes: to the
// API server it is then the user that it would be without the proxy. Answers
// pass as they come, watches event by event. The package is for tests only.
package apiproxy
