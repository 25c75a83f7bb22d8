package inventory

import (
	"net/netip"
	"time"
)

// Outcome is what one health check learned.
type Outcome uint8

// The outcomes. A LocalError says nothing of the node (no file descriptors, no
// route, cancelled, not run in time) and does not count. Elsewhere is no check of this
// process: another replica connected to an address that was silent here.
const (
	LocalError Outcome = iota
	Pass
	Refused
	Silent
	Elsewhere
)

// String returns the word that pages, logs and metrics use.
func (o Outcome) String() string {
	return [...]string{LocalError: "LocalError", Pass: "Pass", Refused: "Refused", Silent: "Silent", Elsewhere: "Elsewhere"}[o]
}

// Result is one health check of one address. A failed check is data, not an
// error.
type Result struct {
	Address netip.Addr
	// At is when the check was sent.
	At      time.Time
	Latency time.Duration
	Outcome Outcome
	// Reason is Ready after a pass, one of the Probe reasons after a failure,
	// and empty after a LocalError.
	Reason Reason
	// Message says what was asked and what was answered; after Elsewhere it is the name of
	// the replica.
	Message string
	// NoConnection says of a Silent check that its connection was not answered.
	NoConnection bool
	// Failures says of an Elsewhere how many of Streak.Unconnected it answers. At is then when
	// the last of them was sent. Missed says that the replica got no connection either.
	Failures int
	Missed   bool
}

// Streak is how often in a row the checks of an address passed or failed. At
// most one of the two counts is above zero; both are zero before the first
// result that counts.
type Streak struct {
	Passes int
	Fails  int
	// Turns is how often a pass followed a failure or a failure a pass. Where it
	// has moved, the count began anew, even if it is as high as before.
	Turns int
	// SilentSince is when the first of the newest results was sent that were all
	// Silent; zero where the last one was not.
	SilentSince time.Time
	// SilentAt is when the newest Silent result was sent, whatever came since; zero
	// where none was.
	SilentAt time.Time
	// Unconnected are the failures of this row without a connection.
	Unconnected ConnectFailures
	// Last is the newest result that counts; never a LocalError, nor an Elsewhere.
	Last Result
	// Trouble is the message of the newest LocalError that came after Last, or
	// empty; TroubleSince is when the first of them was sent.
	Trouble      string
	TroubleSince time.Time
}

// ConnectFailures counts the failures in a row for which no connection was answered.
type ConnectFailures struct {
	// Failures is how many there were, and Elsewhere how many of them, the first ones, another
	// replica answered with a connection.
	Failures, Elsewhere int
	// Answered is when the last of the answered ones was sent, and Replica who connected. Missed is
	// when the last one was sent of which another replica said that it gets no connection either.
	Answered time.Time
	Replica  string
	Missed   time.Time
}

// Known reports whether any check of the address counted so far.
func (s Streak) Known() bool { return s.Passes > 0 || s.Fails > 0 }
