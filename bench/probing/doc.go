// Package probing measures what it costs to check many backends all the time,
// and how evenly it is done: by the daemon, by its prober alone, by
// blackbox_exporter, and by a plain loop over net/http.
//
// In goes a list of cases; out come lines as go test -bench prints them. Each
// case has a network namespace of its own, in which one process answers at every
// address of 10.64.0.0/12 and nothing answers at 10.80.0.0/12. Only Linux has
// that.
package probing
