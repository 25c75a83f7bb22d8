// Package controller fills any number of Services from any number of pools.
//
//	documents ──┐
//	Services ───┤                     ┌─> pools:   one reader each ─────────┐
//	namespaces ─┼─> assign.Resolve ───┼─> groups:  a pool and a check each ─┴─> verdicts ─┐
//	our slices ─┘        ^            └─> targets: a Service each <───────────────────────┘
//	                     │                         │
//	                     └── which groups are ready └──> slices
//
// In come documents, the watches of the hub and time; out go readers, groups and targets
// that run, and slices that say what was decided. What is wrong with one pool, group or
// target is told, and stops no other. The package decides nothing: who may use what is
// for package assign, what is published for package guard.
//
//	type     answers
//	Server   what runs; one goroutine decides
//	pools    which inventories are read
//	groups   which endpoints are checked how
//	targets  which Services are filled from which groups
//	teller   what of it is told, once
//	once     when a single run has settled, and what it came to
package controller
