// Package monitoring tests what deploy/monitoring and docs/runbooks give to operators
// of the daemon: alert rules, their runbooks and the dashboard. It uses Prometheus'
// own promtool and the metrics that the program has.
//
// It contains tests only.
package monitoring
