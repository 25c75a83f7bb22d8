// Package apiproxy stands before a real API server. On request it is slow, full,
// broken, deaf or gone, loses answers, cuts watches, and makes writes run into
// conflicts. It can also call the test at a named point of a request, where the test
// can kill a program.
//
// A program reaches it by a kubeconfig that [Proxy.Kubeconfig] writes. For the API
// server the program has the same user as without the proxy. Answers pass as they
// come, watches event by event. The package is for tests only.
package apiproxy
