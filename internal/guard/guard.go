package guard

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// Mode says whether the observed world is trusted.
type Mode uint8

// The modes, mildest first.
const (
	// Publish trusts inventory and health.
	Publish Mode = iota
	// Hold keeps members that a suspect read or a shared silence would take.
	Hold
	// FailOpen publishes every present candidate, because none passes.
	FailOpen
)

// String returns the word that pages, logs, metrics and JSON use.
func (m Mode) String() string {
	switch m {
	case Hold:
		return "Hold"
	case FailOpen:
		return "FailOpen"
	case Publish:
	}
	return "Publish"
}

// Cause is why the mode is not Publish. It is empty in Publish.
type Cause string

// The causes.
const (
	// NoNodes: the read lists no node although members exist.
	NoNodes Cause = "NoNodes"
	// NothingPassesFilter: the read lists nodes, but none passes the filter.
	NothingPassesFilter Cause = "NothingPassesFilter"
	// NothingStays: every candidate of the read is announced to leave, and
	// nothing would be there in their place.
	NothingStays Cause = "NothingStays"
	// TooManyRemovals: the read would take away more members than
	// MAX_REMOVAL_PERCENT allows.
	TooManyRemovals Cause = "TooManyRemovals"
	// ContradictoryRead: the read gives one address to two nodes and would
	// take members away.
	ContradictoryRead Cause = "ContradictoryRead"
	// ProbesSilent: so many members are silent at once that the prober is
	// presumed cut off.
	ProbesSilent Cause = "ProbesSilent"
	// NothingPasses: health alone would leave nothing ready.
	NothingPasses Cause = "NothingPasses"
)

// Policy is the operator's part of the decision; design section 4 has the
// defaults.
type Policy struct {
	// HealthOff is HEALTH_CHECK_MODE=off: every candidate counts as passing.
	HealthOff bool
	// Rise and Fall are results in a row, at least 1.
	Rise, Fall int
	// Interval is HEALTH_CHECK_INTERVAL; Fall of them bound how long ago
	// silence may have demoted a member that a cut-off prober brings back.
	Interval time.Duration
	// MaxSilentPercent is the share of the present members above which silence
	// is put down to the prober, 0 to 100.
	MaxSilentPercent int
	// FailOpen is HEALTH_CHECK_FAIL_OPEN.
	FailOpen bool
	// Threshold is EMPTY_RESULT_THRESHOLD: how many suspect reads in a row must
	// miss a member before it is believed gone; 0 means never.
	Threshold int
	// MaxRemovalPercent is the share of the members that may be leaving at a
	// time before a read is suspect, 0 to 100; one may always leave.
	MaxRemovalPercent int
	// DrainPeriod is how long a leaving member that still passes stays.
	DrainPeriod time.Duration
}

// Read is one complete answer of the source after the filter.
type Read struct {
	// Nodes is how many nodes the source listed, whatever became of them.
	Nodes int
	// Candidates and Decisions are the filter's, sorted.
	Candidates []inventory.Candidate
	Decisions  []inventory.Decision
	// Scheduled says that the poll interval brought the read, not a change
	// signal. Only scheduled reads count towards Threshold, so that a burst of
	// signals does not turn minutes of patience into a second.
	Scheduled bool
}

// Input is what one decision is made of.
type Input struct {
	// Now carries a monotonic reading.
	Now time.Time
	// Read is the read that brought this decision about, nil if none did.
	Read   *Read
	Health inventory.Health
	Memory Memory
}

// Verdict is what one decision comes to.
type Verdict struct {
	Mode  Mode
	Cause Cause
	// Message explains Cause with the actual numbers; empty in Publish.
	Message string
	// Members are to be published, sorted by address.
	Members []inventory.Member
	// Decisions say what became of every candidate and member, sorted.
	Decisions []inventory.Decision
	// Watch are the addresses that want to be probed, sorted.
	Watch []Watch
	// Next is when time alone will change the verdict; zero if it will not.
	Next time.Time
	// Memory is the input of the next decision.
	Memory Memory
}

// Watch is an address that wants to be probed.
type Watch struct {
	Address netip.Addr
	// Urgent says that the last result contradicts the address's state.
	Urgent bool
}

// Decide is the only place that fails open. It compares what the source says
// with what the probes say and with what is published, and never forgets a
// working member because one of the first two went blind.
func Decide(in Input, policy Policy) Verdict {
	if policy.HealthOff {
		in.Health = nil
	}
	var verdict Verdict
	for f, before := range in.Memory.pools {
		if in.Read != nil {
			before = observe(before, *in.Read, family(f), in.Now, policy)
		}
		verdict.add(family(f), judge(before, in.Health, in.Now, policy))
	}
	slices.SortFunc(verdict.Decisions, inventory.CompareDecisions)
	return verdict
}

// add joins what was decided of one family to the verdict; the severer mode
// wins, and IPv4's explanation where both are as severe.
func (v *Verdict) add(f family, r ruling) {
	v.Memory.pools[f] = r.pool
	if r.mode > v.Mode {
		v.Mode, v.Cause, v.Message = r.mode, r.cause, r.message
	}
	v.Members = slices.Grow(v.Members, len(r.pool.members))
	for _, m := range r.pool.members {
		v.Members = append(v.Members, m.Member)
	}
	v.Decisions, v.Watch = joined(v.Decisions, r.decisions), joined(v.Watch, r.watch)
	if !r.next.IsZero() && (v.Next.IsZero() || r.next.Before(v.Next)) {
		v.Next = r.next
	}
}

// joined returns what two lists hold, the first one first. Mostly there is one
// family only, and nothing is copied.
func joined[E any](first, second []E) []E {
	if len(first) == 0 {
		return second
	}
	return append(first, second...)
}
