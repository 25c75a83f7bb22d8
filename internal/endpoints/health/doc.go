// Package health asks the members' addresses whether they serve, and counts the
// answers.
//
// In come addresses; out go results (Checker asks one address once, Loop asks
// all of them on time) and streaks of results (Advance). A failed check is data,
// not an error. The package never decides whether an address is published, never
// resolves a name, and connects to nothing but the address it was given.
package health
