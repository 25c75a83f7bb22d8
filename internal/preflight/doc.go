// Package preflight looks, before the daemon is let loose, at everything that
// has to be right for it to work. In come the configuration and the ways to the
// source, the API servers and the backends; out goes a Report: one Check for
// each thing that was looked at, with what was found, the remedy, and a link to
// the page that explains it.
//
//	configuration ─┬─> source ──> nodes ───────────┐
//	               └─> api ──> rights, objects ────┴─> service, slices, probes
//
// Run asks, within bounds and side by side where it can; what was found is
// judged by plain functions, one file for each section. It changes nothing, and
// it asks for no right that the daemon itself does without: what cannot be seen
// with those is skipped, and says so.
package preflight
