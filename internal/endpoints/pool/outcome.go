package pool

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Outcome is what one event came to. It is not changed any more.
type Outcome struct {
	// At is when it was observed, Judged when the verdict was made.
	At, Judged time.Time
	// Decided says that a first decision was made.
	Decided bool
	// Settled says that every endpoint was checked at some time as often as it takes for a
	// first verdict, or could not be for so long, and that the source was tried.
	Settled bool
	// Passed says that the verdict is a new one, and Beat that nothing is new but
	// Health, Overruns and Held.
	Passed, Beat bool
	Verdict      *guard.Verdict
	Health       inventory.Health
	Source       SourceStatus
	Placed       PlacementStatus
	// Read is the attempt to read that came since the last outcome, if one did.
	Read *Attempt
	// Recovered says what the pool starts from; only in the first outcome.
	Recovered *Recovery
	// Overruns counts the rounds of checks that could not finish within the
	// interval (contract 12).
	Overruns uint64
	// Refused counts the addresses that are not checked, because all groups have as
	// many checks as there may be; known since the last beat.
	Refused int
	// Trouble says why no new verdict is made, nil where it is.
	Trouble *Trouble
	// Held is what held connections came to.
	Held HoldCounts
}

// SourceStatus is how reading goes.
type SourceStatus struct {
	LastAttempt, LastSuccess time.Time
	// Next is when the source is read again by schedule; a source that signals
	// changes may be read before.
	Next time.Time
	// LastErr is nil after a success.
	LastErr error
	// Nodes is how many nodes the last complete read listed, Decisions what the
	// filter made of them.
	Nodes     int
	Decisions []inventory.Decision
}

// PlacementStatus is how following the remote Service goes; the zero value follows none.
type PlacementStatus struct {
	// Newest is the newest complete placement, nil before the first.
	Newest *inventory.Placement
	// EveryNode says that it has no effect: the Service forwards from every node.
	EveryNode bool
	// LastSuccess is when it was current last, and LastErr why it is not; nil while it is.
	LastSuccess time.Time
	LastErr     error
}

// Recovery is what a pool starts from.
type Recovery struct {
	// Members were published; Ineligible of them are not eligible any more.
	Members, Ineligible int
}
