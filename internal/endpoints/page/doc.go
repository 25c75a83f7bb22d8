// Package page serves over HTTP what the daemon knows: a status page for people,
// the same as JSON for programs, liveness and readiness for Kubernetes, and metrics
// for Prometheus. Functions that make reports come in, and two
// listeners go out: the page can stay private while probes and metrics are reachable.
// If another replica leads, what it says takes the place of this process's own.
//
// It decides nothing, changes nothing and keeps nothing. Everything is bounded:
// connections, time, headers, and how many answers are made at once. So requests,
// however many, never stop the loop.
package page
