// Package peers lets the replicas of the program ask each other whether a published endpoint
// can be reached (contract 239). In: endpoints whose checks get no connection, and what the
// Lease says. Out: which of them another replica connects to.
//
//	leader                                    standby
//	pool ──> Desk ──> Asker ──> Lease, note ──> Answerer ──> connects
//	pool <── Desk <── Asker <── second Lease <──────┘
//
// A question names at most MaxTargets endpoints. A connection elsewhere is a result of a check
// that package guard judges; the package decides nothing but which replica is to lead: one
// that for a minute reached what the leader did not, and reaches all that the leader reaches.
//
// Nothing listens, and nothing is asked, tried or written while all endpoints are reached.
package peers
