// Package preflight checks, before the daemon starts, everything that has to be
// right for the daemon to work. In come the configuration, the documents of any
// carrier, and the ways to the sources, the API servers and the endpoints; out goes a
// Report: one Check for each thing that was looked at, with what was found, the
// remedy, and a link to the page that explains it.
//
//	documents ─┬─> source and nodes of each pool ─┬─> who uses which pool ─┬─> probes
//	           └─> Services of each namespace ────┘                        └─> rights, slices
//
// Run asks, within bounds and in parallel where it can; plain functions judge what
// was found, one file for each section. It changes nothing, and it needs no right
// that the daemon does not need: what cannot be read with those rights is skipped,
// and the report says so.
package preflight
