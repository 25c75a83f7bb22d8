// Package health asks the members' addresses whether they serve, and counts the
// answers.
//
// In come addresses; out go results (Checker asks one address once, Loop asks
// all of them on time) and streaks of results (Advance). A failed check is data,
// not an error. The package never decides whether an address is published, never
// resolves a name, and connects to nothing but the address it was given.
//
// Connections keeps one idle TCP connection to each endpoint and tells its Holders of
// each that is lost. Such an alarm is no evidence: the peer may have closed an idle
// connection, restarted, or a firewall may have forgotten it. It says only that the
// address is worth a check now. Nothing but keep-alives is sent on it.
package health
