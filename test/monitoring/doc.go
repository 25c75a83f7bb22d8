// Package monitoring tests what deploy/monitoring and docs/runbooks give to those
// who watch the daemon: alert rules, their runbooks and the dashboard, with
// Prometheus' own promtool and against the metrics that the program has.
//
// It contains tests only.
package monitoring
