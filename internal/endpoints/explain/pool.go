package explain

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// mostLines is how many changes of one pass are logged one by one.
const mostLines = 20

// Pool is the memory of what was reported of a pool; nothing, if zero.
type Pool struct {
	// ModeSince is when the mode was entered.
	ModeSince time.Time
	// Moves are members that entered a state, by state.
	Moves [states]uint64
	// Accepted counts the endpoints that rejected inventories took away.
	Accepted uint64

	// last is the newest outcome.
	last     pool.Outcome
	register register
	// warnedAt is when overruns were last logged.
	warnedAt time.Time
}

// states is how many states there are.
const states = inventory.StateDown + 1

// Findings returns the last word on every node and address, sorted by both. It is
// put together when it is asked for.
func (p Pool) Findings() []Finding { return p.register.all() }

// Tell returns what an outcome is worth telling, and the memory for the next one.
func (p Pool) Tell(o pool.Outcome) (Pool, Story) {
	var s Story
	before := p.last
	if o.Recovered != nil {
		s.recovered(*o.Recovered)
		before.Verdict = o.Verdict
	}
	if o.Beat { // what it says of these is told with the next outcome, if it is new
		o.Decided, o.Verdict, o.Source = before.Decided, before.Verdict, before.Source
	}
	p.last = o
	p.last.Read = nil // it has every node of an inventory
	p.tellOverruns(before, o, &s)
	s.trouble(before, o)
	s.placement(before, o)
	s.elsewhere(before.Verdict.Elsewhere > 0, o.Verdict)
	if o.Beat {
		return p, s
	}
	if o.Read != nil {
		s.read(before.Source, *o.Read)
	}
	if o.Read != nil && o.Read.Err == nil {
		s.eligible(notEligible(before.Source.Decisions), notEligible(o.Source.Decisions), o.Source.Nodes)
	}
	changes := compareMembers(before.Verdict.Members, o.Verdict.Members)
	s.decided(*before.Verdict, *o.Verdict, changes)
	s.Cycle = decidedCycle(o, *before.Verdict, changes)
	if o.Passed {
		s.removal(*before.Verdict, *o.Verdict)
		s.unchecked(*before.Verdict, *o.Verdict)
		p.Accepted += uint64(len(o.Verdict.Accepted))
	}
	for _, c := range changes {
		p.Moves[c.to]++
	}
	if before.Verdict.Mode != o.Verdict.Mode || !before.Decided {
		p.ModeSince = o.At
	}
	p.register = p.register.update(o.Source.Decisions, o.Verdict, changes, o.Judged, o.At)
	s.found(p.register.newest, o.At)
	return p, s
}

// tellOverruns says that rounds of checks take too long, at most once a minute.
func (p *Pool) tellOverruns(before, o pool.Outcome, s *Story) {
	if o.Overruns == before.Overruns || !p.warnedAt.IsZero() && o.At.Sub(p.warnedAt) < time.Minute {
		return
	}
	p.warnedAt = o.At
	s.say(Warn, "a round of health checks took longer than HEALTH_CHECK_INTERVAL: raise it or HEALTH_CHECK_CONCURRENCY, or lower HEALTH_CHECK_TIMEOUT", "overruns", o.Overruns)
}

// trouble says when no decision can be made, or not everything be checked, and
// when that is over.
func (s *Story) trouble(before, o pool.Outcome) {
	switch t := o.Trouble; {
	case t != nil && (before.Trouble == nil || t.Failures != before.Trouble.Failures):
		s.say(Error, "deciding panicked: endpoints stay as they are published; this is a mistake of the program, please report it", "panic", t.Panic, "failures", t.Failures, "retry_at", t.Retry.UTC().Format(time.TimeOnly), "stack", t.Stack)
	case t == nil && before.Trouble != nil:
		s.say(Info, "decisions are made again")
	}
	switch {
	case o.Refused > 0 && before.Refused == 0:
		s.say(Warn, "there are as many health checks as there may be: some endpoints are not checked; use fewer different checks", "endpoints", o.Refused)
	case o.Refused == 0 && before.Refused > 0:
		s.say(Info, "all endpoints are checked again")
	}
}

// recovered says what the program starts from.
func (s *Story) recovered(r pool.Recovery) {
	s.say(Info, "started from the slices", "endpoints", r.Members)
	if r.Ineligible > 0 {
		s.say(Warn, "published endpoints are not eligible any more: they are not checked, and leave when an inventory is accepted; check SECURED_SUBNET_CIDR", "endpoints", r.Ineligible)
	}
}

// read says when the source begins to fail, fails otherwise, or recovers.
func (s *Story) read(before pool.SourceStatus, r pool.Attempt) {
	switch {
	case r.Err != nil && before.LastErr == nil:
		s.announce(Notice{Reason: SourceUnavailable, Note: r.Err.Error() + "; endpoints stay published, and health checks go on"})
	case r.Err == nil && before.LastErr != nil:
		s.announce(Notice{Reason: SourceRecovered, Note: fmt.Sprintf("%d nodes read", len(r.Nodes))})
	}
	switch {
	case r.Err != nil && (before.LastErr == nil || before.LastErr.Error() != r.Err.Error()):
		s.say(Warn, "source read failed; endpoints stay published, and health checks go on", "error", r.Err)
	case r.Err != nil:
		s.say(Debug, "source read failed again", "error", r.Err)
	case before.LastErr != nil:
		s.say(Info, "source recovered", "nodes", len(r.Nodes))
	}
}

// eligible says when the nodes that are not eligible change.
func (s *Story) eligible(was, is []inventory.Decision, nodes int) {
	if slices.Equal(was, is) {
		return
	}
	reasons := make(map[inventory.Reason]int)
	for _, d := range is {
		reasons[d.Reason]++
	}
	switch {
	case nodes == 0:
		s.say(Info, "the inventory is empty")
		return
	case len(is) == 0:
		s.say(Info, "all nodes of the inventory are eligible")
		return
	}
	args := []any{"not_eligible", len(is)}
	for _, doc := range inventory.Reasons() {
		if count := reasons[doc.Reason]; count > 0 {
			args = append(args, snake(doc.Reason), count)
		}
	}
	s.say(Info, "some nodes are not eligible", append(args, "node", is[0].Node.Name, "message", is[0].Text())...)
}

// notEligible returns the decisions about what is not eligible, sorted by name.
func notEligible(decisions []inventory.Decision) []inventory.Decision {
	return ByName(slices.DeleteFunc(slices.Clone(decisions), func(d inventory.Decision) bool { return d.Reason == "" }))
}

// snake spells a reason as a log key.
func snake(reason inventory.Reason) string {
	var key strings.Builder
	for i, r := range string(reason) {
		if i > 0 && 'A' <= r && r <= 'Z' {
			key.WriteByte('_')
		}
		key.WriteString(strings.ToLower(string(r)))
	}
	return key.String()
}

// decided says when the mode or a member changes.
func (s *Story) decided(before, after guard.Verdict, changes []memberChange) {
	if before.Mode != after.Mode {
		level := Warn
		if after.Mode == guard.Publish {
			level = Info
		}
		s.announce(modeNotices(before, after)...)
		m := modeChange(before, after)
		s.say(level, "mode changed", "from", m.From, "to", m.To, "reason", m.Reason, "message", m.Message)
	}
	for i, c := range changes {
		if i == mostLines {
			s.say(Info, "further endpoints changed", "endpoints", len(changes)-i)
			break
		}
		d := decisionOn(after.Decisions, c.address)
		s.say(Info, "endpoint changed", "address", c.address.String(), "node", d.Node.Name, "from", c.from.String(), "to", c.to.String(), "reason", string(d.Reason), "message", d.Text())
	}
}

// modeChange describes a change of the mode.
func modeChange(before, after guard.Verdict) *ModeChange {
	m := &ModeChange{before.Mode.String(), after.Mode.String(), string(after.Cause), after.Message}
	if after.Mode == guard.Publish {
		m.Reason, m.Message = string(before.Cause), "over: "+resumed(before.Mode)
	}
	return m
}

// decisionOn returns the decision about an address from a list sorted by address.
func decisionOn(decisions []inventory.Decision, addr netip.Addr) inventory.Decision {
	i, ok := slices.BinarySearchFunc(decisions, addr, func(d inventory.Decision, addr netip.Addr) int { return d.Address.Compare(addr) })
	if !ok {
		return inventory.Decision{}
	}
	return decisions[i]
}

// memberChange is one address whose state differs.
type memberChange struct {
	address  netip.Addr
	from, to inventory.State
}

// compareMembers returns how two sorted lists of members differ.
func compareMembers(before, after []inventory.Member) []memberChange {
	var changes []memberChange
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Address.Less(after[0].Address):
			changes = append(changes, memberChange{before[0].Address, before[0].State, inventory.Absent})
			before = before[1:]
		case len(before) == 0 || after[0].Address.Less(before[0].Address):
			changes = append(changes, memberChange{after[0].Address, inventory.Absent, after[0].State})
			after = after[1:]
		default:
			if before[0].State != after[0].State {
				changes = append(changes, memberChange{after[0].Address, before[0].State, after[0].State})
			}
			before, after = before[1:], after[1:]
		}
	}
	return changes
}

// found says what became of every node and address.
func (s *Story) found(all []Finding, now time.Time) {
	for _, f := range all {
		if f.Since.Equal(now) {
			s.say(Debug, "decision changed", "node", f.Node.Name, "address", f.Address, "state", f.State.String(), "reason", string(f.Reason), "message", f.Text())
		}
	}
}

// removal says when rejected inventories are going to remove endpoints, and when
// they have: the nodes may still be there, and a person can act before.
func (s *Story) removal(before, after guard.Verdict) {
	if n := len(after.Accepted); n > 0 {
		s.announce(Notice{Reason: RemovalAccepted, Note: after.AcceptedMessage})
		s.say(Warn, "endpoints removed although the inventories were rejected", "endpoints", n, "message", after.AcceptedMessage)
	}
	if pending := after.Removal; before.Removal.Endpoints == 0 && pending.Endpoints > 0 {
		s.announce(Notice{Reason: RemovalPending, Note: PendingRemoval(pending) + ": " + after.Message})
		s.say(Warn, "rejected inventories will remove endpoints", "endpoints", pending.Endpoints, "inventories", pending.Inventories, "message", after.Message)
	}
}

// unchecked says when the health checks of some endpoints cannot be carried out,
// and when all can again.
func (s *Story) unchecked(before, after guard.Verdict) {
	switch {
	case before.Unchecked == 0 && after.Unchecked > 0:
		s.say(Warn, "endpoints are not checked: this daemon cannot carry out their health checks", "endpoints", after.Unchecked)
	case before.Unchecked > 0 && after.Unchecked == 0:
		s.say(Info, "all endpoints are checked again")
	}
}

// PendingRemoval says what further rejected inventories will take away.
func PendingRemoval(r guard.Removal) string {
	endpoints := inventory.Counted(r.Endpoints, "kept endpoint", "kept endpoints")
	inventories := inventory.Counted(r.Inventories, "more scheduled inventory is rejected", "more scheduled inventories are rejected")
	when := "when "
	if !r.At.IsZero() {
		when = "at " + r.At.UTC().Format(time.TimeOnly) + " UTC, if "
	}
	if r.Endpoints > 1 {
		return endpoints + " will be removed, the first " + when + inventories
	}
	return endpoints + " will be removed " + when + inventories
}

// Placement says what is wrong with what a group knows of its remote Service: that it cannot be
// read, or what the guard says. Without a reason nothing is. A start gets the time that the
// first checks take.
func Placement(o *pool.Outcome) guard.Placement {
	told := o.Verdict.Placement
	if p := o.Placed; p.LastErr != nil && (o.Settled || !p.LastSuccess.IsZero()) {
		told.Reason, told.Since = inventory.Reason(PlacementUnavailable), p.LastSuccess
		told.Message = p.LastErr.Error() + "; endpoints stay published, and health checks go on"
	}
	return told
}

// placement says when something is wrong with what is known of the remote Service, and when
// that is over.
func (s *Story) placement(before, o pool.Outcome) {
	if o.Placed.EveryNode && !before.Placed.EveryNode {
		s.say(Info, "the remote Service forwards from every node, so the nodes of its Pods make no difference")
	}
	switch told := Placement(&o); {
	case told.Reason == Placement(&before).Reason:
	case told.Reason == "":
		s.announce(Notice{Reason: PlacementRecovered, Note: "the remote Service decides again which endpoints join and leave"})
		s.say(Info, "the placement of the remote Service counts again", "nodes", told.Named)
	default:
		s.announce(Notice{Reason: NoticeReason(told.Reason), Note: told.Message})
		s.say(Warn, "something is wrong with the placement of the remote Service", "reason", string(told.Reason), "message", told.Message)
	}
}

// elsewhere says when endpoints begin to stay because another replica reaches them, and when
// that is over.
func (s *Story) elsewhere(before bool, v *guard.Verdict) {
	switch now := v.Elsewhere > 0; {
	case before && !now:
		s.say(Info, "replicas agree again about which endpoints can be reached")
	case now && !before:
		s.announce(Notice{Reason: ReplicasDisagree, Note: fmt.Sprintf(
			"%d endpoints do not answer the leader, but replica %s connects to them: they stay published", v.Elsewhere, v.Replica)})
		s.say(Warn, "another replica connects to endpoints that do not answer here: they stay published", "endpoints", v.Elsewhere, "replica", v.Replica)
	}
}
