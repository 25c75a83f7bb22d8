package guard

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Mode says whether the observed world is trusted.
type Mode uint8

// The modes, mildest first.
const (
	// Publish trusts inventory and health.
	Publish Mode = iota
	// Hold keeps endpoints that a rejected inventory or a shared silence would
	// take away, or that leave while nothing passes in their place.
	Hold
	// FailOpen publishes every endpoint that stays, because none passes.
	FailOpen
)

// String returns the word that pages, logs, metrics and JSON use.
func (m Mode) String() string { return [...]string{"Publish", "Hold", "FailOpen"}[m] }

// Cause is why the mode is not Publish. It is empty in Publish.
type Cause string

// The causes.
const (
	// NoNodes: the inventory lists no node although endpoints are published.
	NoNodes Cause = "NoNodes"
	// NothingPassesFilter: the inventory lists nodes, but none is eligible.
	NothingPassesFilter Cause = "NothingPassesFilter"
	// NothingStays: every endpoint of the inventory is announced to leave, and
	// nothing would be there in their place.
	NothingStays Cause = "NothingStays"
	// TooManyRemovals: the inventory would take away more endpoints than
	// MAX_REMOVAL_PERCENT allows.
	TooManyRemovals Cause = "TooManyRemovals"
	// ContradictoryRead: the inventory gives one address to two nodes and would
	// take endpoints away.
	ContradictoryRead Cause = "ContradictoryRead"
	// ProbesSilent: so many endpoints are silent at once that the prober is
	// presumed cut off.
	ProbesSilent Cause = "ProbesSilent"
	// NothingPasses: health alone would leave nothing ready. With the mode Hold,
	// endpoints that leave and still pass are ready meanwhile.
	NothingPasses Cause = "NothingPasses"
)

// Policy is what the operator sets; internal/settings has the defaults.
type Policy struct {
	// HealthOff is HEALTH_CHECK_MODE=off: every candidate counts as passing.
	HealthOff bool
	// Rise and Fall are results in a row, at least 1.
	Rise, Fall int
	// Interval is HEALTH_CHECK_INTERVAL. Fall of them are how long failing open
	// waits for first checks; how far back silence counts, and what it took down
	// is brought back; and after how long without a check an endpoint counts as
	// unchecked.
	Interval time.Duration
	// MaxSilentPercent is the share of the present endpoints above which silence
	// is put down to the prober, 0 to 100.
	MaxSilentPercent int
	// FailOpen is HEALTH_CHECK_FAIL_OPEN.
	FailOpen bool
	// Threshold is EMPTY_RESULT_THRESHOLD: after how many scheduled rejected
	// inventories in a row an endpoint that they leave out is removed, if it was
	// down at each; 0 means never.
	Threshold int
	// PollInterval is when the next scheduled inventory comes, for messages that
	// say when something will happen; 0 if that is not known.
	PollInterval time.Duration
	// MaxRemovalPercent is the share of the endpoints that may be leaving at a
	// time before an inventory is rejected, 0 to 100; one may always leave.
	MaxRemovalPercent int
	// DrainPeriod is how long a leaving endpoint that still passes stays.
	DrainPeriod time.Duration
	// AnswerWait is how long a failure that alone would take an endpoint down waits for the
	// answer of another replica; 0 where there is none.
	AnswerWait time.Duration
}

// checks is how long Fall checks of an endpoint take.
func (p Policy) checks() time.Duration { return time.Duration(p.Fall) * p.Interval }

// Inventory is one complete answer of the source, after the filter.
type Inventory struct {
	// Nodes is how many nodes the source listed, whatever became of them.
	Nodes int
	// Candidates and Decisions are the filter's, sorted.
	Candidates []inventory.Candidate
	Decisions  []inventory.Decision
	// Ineligible are the addresses of the nodes that are not eligible, sorted.
	// They tell that an address went to another node.
	Ineligible []inventory.Candidate
	// Scheduled says that the poll interval brought the inventory, not a change
	// signal or a retry. Only scheduled ones count towards Threshold, so that a
	// burst of signals does not turn minutes into a second.
	Scheduled bool
	// Placement says where the Pods of the remote Service are. It is nil where none is
	// followed, or where the Service forwards from every node.
	Placement *inventory.Placement
}

// Input is what one decision is made of.
type Input struct {
	// Now carries a monotonic reading.
	Now time.Time
	// Read is the read that brought this decision about, nil if none did.
	Read   *Inventory
	Health inventory.Health
	Memory Memory
}

// Verdict is what one decision comes to.
type Verdict struct {
	Mode  Mode
	Cause Cause
	// Message explains Cause with the actual numbers; empty in Publish.
	Message string
	// Members are to be published where this pool is the only one, sorted by
	// address. Published is for targets of several pools.
	Members []inventory.Member
	// Decisions say what became of every candidate and member, sorted by
	// address.
	Decisions []inventory.Decision
	// Watch are the addresses that want to be probed, sorted.
	Watch []inventory.Watch
	// Asks are the published endpoints that this process does not reach, at most MaxAsks of each
	// family, sorted; Elsewhere is how many are ready because another replica reaches them, and
	// Replica which.
	Asks []Ask
	// Answered are those whose newest failure another replica has answered, at most as many.
	Answered  []Ask
	Elsewhere int
	Replica   string
	// Accepted are the endpoints whose removal by rejected inventories this
	// decision accepted, sorted; AcceptedMessage says why, and names them.
	Accepted        []netip.Addr
	AcceptedMessage string
	// Removal is what further rejected inventories will take away.
	Removal Removal
	// Placement is what there is to tell of the newest placement.
	Placement Placement
	// Unchecked counts the endpoints with nothing but local errors for longer than
	// Fall intervals.
	Unchecked int
	// Next is when time alone will change the verdict; zero if it will not.
	Next time.Time
	// Memory is the input of the next decision.
	Memory Memory
	// parts are what Published needs.
	parts [families]part
}

// Removal is what will happen if the source does not recover.
type Removal struct {
	// Endpoints is how many endpoints will be removed.
	Endpoints int
	// Inventories is after how many more scheduled rejected inventories the
	// first of them goes, at the earliest.
	Inventories int
	// At is when that will be; zero where it is not known.
	At time.Time
}

// MaxAsks bounds the endpoints of one family about which other replicas are asked.
const MaxAsks = 256

// Ask is a published endpoint that is not down and that this process does not reach.
type Ask struct {
	Address netip.Addr
	// At is when its newest check was sent, and Failures how many there were in a row for
	// which no connection was answered.
	At       time.Time
	Failures int
	// Urgent says that a few more take it down.
	Urgent bool
}

// Decide is the only place that fails open. It compares what the source says
// with what the probes say and with what is published. A failure of source or
// probes never takes a working member away.
func Decide(in Input, policy Policy) Verdict {
	if policy.HealthOff {
		in.Health = inventory.Health{}
	}
	var verdict Verdict
	placing := in.Memory.placing(in, policy)
	for f, before := range in.Memory.pools {
		before.placing = placing
		counts := false
		if in.Read != nil {
			before = observe(before, *in.Read, family(f), in.Now, policy)
			counts = in.Read.Scheduled && before.cause != ""
		}
		verdict.add(family(f), judge(before, in.Health, in.Now, policy, counts))
	}
	told, next := placing.tell(placing.leavesOut(verdict.Memory), in.Now, policy)
	verdict.Placement, verdict.Next = told, sooner(verdict.Next, next)
	return verdict
}

// add joins what was decided of one family to the verdict; the severer mode
// wins, and IPv4's explanation where both are as severe. IPv4 addresses come
// before IPv6 ones, so what is sorted stays so.
func (v *Verdict) add(f family, r ruling) {
	v.Memory.pools[f], v.parts[f] = r.pool, r.part
	if r.Mode > v.Mode {
		v.Mode, v.Cause, v.Message = r.Mode, r.Cause, r.Message
	}
	v.Members = joined(v.Members, r.Members)
	v.Decisions, v.Watch = joined(v.Decisions, r.Decisions), joined(v.Watch, r.Watch)
	v.Answered = joined(v.Answered, r.Answered)
	v.Asks, v.Elsewhere, v.Replica = joined(v.Asks, r.Asks), v.Elsewhere+r.Elsewhere, cmp.Or(v.Replica, r.Replica)
	v.Accepted, v.Removal = joined(v.Accepted, r.Accepted), v.Removal.with(r.Removal)
	v.AcceptedMessage = joinText(v.AcceptedMessage, "; ", r.AcceptedMessage)
	v.Unchecked += r.Unchecked
	v.Next = sooner(v.Next, r.Next)
}

// with returns what two removals come to together.
func (r Removal) with(other Removal) Removal {
	switch {
	case other.Endpoints == 0:
		return r
	case r.Endpoints == 0:
		return other
	}
	return Removal{Endpoints: r.Endpoints + other.Endpoints, Inventories: min(r.Inventories, other.Inventories), At: sooner(r.At, other.At)}
}

// joined returns what two lists hold, the first one first. Mostly there is one
// family only, and nothing is copied.
func joined[E any](first, second []E) []E {
	if len(first) == 0 {
		return second
	}
	return append(first, second...)
}

// sooner returns the earlier of two times, of which a zero one does not count.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
