// Package outbox says which write goes out when (contract 26).
//
// In come the newest diff, and what came of each request; out go single writes,
// the most urgent first, for as many lanes as there are. There is no queue: a
// lane that is free takes from the newest diff, and a diff that has become old is
// made anew by the caller.
//
//	what happened                      what waits for it
//	a write is in flight               its slice, and what that write has to precede
//	a write failed                     its slice, until it was read and its back-off is over
//	the server refused a write         its slice, but for what only takes away (contract 222)
//	the first conflict in a row        its slice, until it was read
//	the server cannot be reached, 429  every slice, until the back-off is over; then one tries first
//	a slice was written often          its slice, until its bucket has a token
//	someone else edits it again        its slice, ever longer
//	nothing would be ready without it  a loss, until something else is ready
//
// It sends nothing and knows no clock: time is a value.
package outbox
