// Package admin serves over HTTP what the daemon knows: to people a status page,
// to programs the same as JSON, to Kubernetes whether it lives and is ready, to
// Prometheus its metrics. A function that makes the report.Document comes in, and
// two listeners go out, so that the page can stay private while probes and metrics
// are reachable. Where another replica leads, its document takes the place of ours.
//
// It decides nothing, changes nothing and keeps nothing. Everything is bounded:
// connections, time, headers, and how many answers are made at once, so that
// whoever looks, and however often, the loop goes on.
package admin
