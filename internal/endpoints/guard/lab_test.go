package guard_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// defaults is the policy of the default settings.
func defaults() guard.Policy {
	return guard.Policy{
		Rise: 2, Fall: 3, Interval: 2 * time.Second, MaxSilentPercent: 50, FailOpen: true,
		Threshold: 10, MaxRemovalPercent: 50, DrainPeriod: 30 * time.Second,
	}
}

// start is when every test begins.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// lab is one guard in a world that a test writes down in short: backends are
// letters, small ones with an IPv4 address, capitals with an IPv6 address.
type lab struct {
	testing.TB
	policy  guard.Policy
	now     time.Time
	health  inventory.Health
	verdict guard.Verdict
	// past is what a restart knows of endpoints.
	past map[netip.Addr]guard.Past
	// forbidden are those that a restart may not check any more.
	forbidden map[netip.Addr]bool
	// inventory is what the newest read listed, and placement what every read comes with.
	inventory string
	placement *inventory.Placement
	// long says that there will be too many decisions to hold each to the laws.
	long bool
}

func newLab(t testing.TB) *lab {
	t.Helper()
	return &lab{TB: t, policy: defaults(), now: start}
}

// running returns a lab in which each of the backends is published and has passed
// RISE times.
func running(t testing.TB, backends string) *lab {
	t.Helper()
	l := newLab(t)
	l.read(backends)
	l.pass(backends)
	l.pass(backends)
	return l
}

// restarted returns a lab whose daemon has just started from these slices, such
// as "a=ready b=down".
func restarted(t testing.TB, published string) *lab {
	t.Helper()
	l := newLab(t)
	l.restart(published)
	return l
}

func (l *lab) restart(published string) {
	var members []inventory.Member
	for _, word := range strings.Fields(published) {
		name, state, _ := strings.Cut(word, "=")
		members = append(members, inventory.Member{Address: addr(name), State: stateNamed(state)})
	}
	l.health = inventory.Health{}
	l.verdict = guard.Verdict{Memory: guard.Recover(members, l.now, l.past, l.forbidden)}
	l.decide(nil)
}

// anew lets a group begin anew with what is published, as after a change of its document.
func (l *lab) anew() {
	l.Helper()
	l.past = l.verdict.Past()
	l.restart(l.states())
}

// drainsSince is what slices say of endpoints that drain.
func drainsSince(at time.Time, backends string) map[netip.Addr]guard.Past {
	past := map[netip.Addr]guard.Past{}
	for _, name := range strings.Fields(backends) {
		past[addr(name)] = guard.Past{Drains: at}
	}
	return past
}

func stateNamed(name string) inventory.State {
	for _, s := range []inventory.State{inventory.StateReady, inventory.StateDraining, inventory.StateDown} {
		if s.String() == name {
			return s
		}
	}
	return inventory.Absent
}

// addr returns the address of a backend.
func addr(name string) netip.Addr {
	letter := name[0]
	if letter < 'a' {
		return netip.MustParseAddr(fmt.Sprintf("fd00::%x", letter-'A'+1))
	}
	return netip.AddrFrom4([4]byte{10, 0, 0, letter - 'a' + 1})
}

// nameOf is the reverse of addr.
func nameOf(a netip.Addr) string {
	raw := a.As16()
	if a.Is4() {
		return string(rune('a' + raw[15] - 1))
	}
	return string(rune('A' + raw[15] - 1))
}

// candidates reads "a b! c@x": a, b which is leaving, c on node x. Without "@" each
// address is on a node of its own.
func candidates(list string) []inventory.Candidate {
	var all []inventory.Candidate
	for _, word := range strings.Fields(list) {
		word, leaving := strings.CutSuffix(word, "!")
		name, node, moved := strings.Cut(word, "@")
		if !moved {
			node = "node-" + name
		}
		all = append(all, inventory.Candidate{Node: inventory.Identity{Name: node}, Address: addr(name), Leaving: leaving})
	}
	slices.SortFunc(all, inventory.CompareCandidates)
	return all
}

// reading is a scheduled read of these addresses, one node each.
func reading(list string) guard.Inventory {
	all := candidates(list)
	return guard.Inventory{Nodes: len(all), Candidates: all, Scheduled: true}
}

// read decides on a scheduled read.
func (l *lab) read(list string) {
	l.Helper()
	read := reading(list)
	l.inventory, read.Placement = list, l.placement
	l.decide(&read)
}

// reads decides on the same scheduled read several times.
func (l *lab) reads(times int, list string) {
	l.Helper()
	for range times {
		l.read(list)
	}
}

// signal decides on a read that a change signal brought.
func (l *lab) signal(list string) {
	l.Helper()
	read := reading(list)
	read.Scheduled = false
	l.decide(&read)
}

// duplicate decides on a scheduled read that gives one address to two nodes.
func (l *lab) duplicate(list string) {
	l.Helper()
	read := reading(list)
	read.Nodes++
	read.Decisions = []inventory.Decision{{
		Node: inventory.Identity{Name: "twin"}, Address: read.Candidates[0].Address,
		Stage: inventory.StageFilter, Reason: inventory.DuplicateAddress,
	}}
	l.decide(&read)
}

// pass, refuse, silence and trouble deliver one result for each backend, one
// after the other, each with a decision.
func (l *lab) pass(list string)    { l.Helper(); l.probe(list, inventory.Pass) }
func (l *lab) refuse(list string)  { l.Helper(); l.probe(list, inventory.Refused) }
func (l *lab) silence(list string) { l.Helper(); l.probe(list, inventory.Silent) }
func (l *lab) trouble(list string) { l.Helper(); l.probe(list, inventory.LocalError) }

func (l *lab) probe(list string, outcome inventory.Outcome) {
	l.Helper()
	for _, name := range strings.Fields(list) {
		l.deliver(inventory.Result{Address: addr(name), At: l.now, Outcome: outcome})
	}
}

// deliver folds one result in and decides.
func (l *lab) deliver(r inventory.Result) {
	l.Helper()
	l.health = fold(l.health, r)
	l.decide(nil)
}

// together folds several results of a in and decides once.
func (l *lab) together(outcomes ...inventory.Outcome) {
	l.Helper()
	for _, outcome := range outcomes {
		l.health = fold(l.health, inventory.Result{Address: addr("a"), At: l.now, Outcome: outcome})
	}
	l.decide(nil)
}

// wait lets time pass and decides.
func (l *lab) wait(d time.Duration) {
	l.Helper()
	l.now = l.now.Add(d)
	l.decide(nil)
}

// decide makes one decision and holds it to what is true of all of them.
func (l *lab) decide(read *guard.Inventory) {
	l.Helper()
	in := guard.Input{Now: l.now, Read: read, Health: l.health, Memory: l.verdict.Memory}
	if l.long {
		l.verdict = guard.Decide(in, l.policy)
		return
	}
	l.verdict = decideLawfully(l, in, l.policy)
}

// states returns the endpoints and their states: "a=ready b=down".
func (l *lab) states() string { return statesOf(l.verdict.Members) }

func statesOf(members []inventory.Member) string {
	words := make([]string, len(members))
	for i, m := range members {
		words[i] = nameOf(m.Address) + "=" + m.State.String()
	}
	return strings.Join(words, " ")
}

// want compares the published endpoints with what they should be.
func (l *lab) want(states string) {
	l.Helper()
	if got := l.states(); got != states {
		l.Fatalf("got members %q in mode %s, want %q\n%s", got, l.mode(), states, l.explain())
	}
}

// mode renders mode and cause: "Publish", "Hold NoNodes".
func (l *lab) mode() string {
	return strings.TrimSpace(l.verdict.Mode.String() + " " + string(l.verdict.Cause))
}

func (l *lab) wantMode(mode string) {
	l.Helper()
	if got := l.mode(); got != mode {
		l.Fatalf("got mode %q (%s), want %q\n%s", got, l.verdict.Message, mode, l.explain())
	}
}

// explain renders the decisions for the message of a failed test.
func (l *lab) explain() string {
	lines := make([]string, len(l.verdict.Decisions))
	for i, d := range l.verdict.Decisions {
		lines[i] = fmt.Sprintf("  %s %s: %s", nameOf(d.Address), d.Reason, d.Message)
	}
	return strings.Join(lines, "\n")
}

// decision returns what was decided of a backend.
func (l *lab) decision(name string) inventory.Decision {
	l.Helper()
	for _, d := range l.verdict.Decisions {
		if d.Address == addr(name) {
			return d
		}
	}
	l.Fatalf("no decision for %s", name)
	return inventory.Decision{}
}

// wantReason checks reason and message of a backend's decision.
func (l *lab) wantReason(name string, reason inventory.Reason, parts ...string) {
	l.Helper()
	got := l.decision(name)
	if got.Reason != reason {
		l.Errorf("got reason %s (%s) for %s, want %s", got.Reason, got.Message, name, reason)
	}
	for _, part := range parts {
		if !strings.Contains(got.Message, part) {
			l.Errorf("got message %q for %s, want it to name %q", got.Message, name, part)
		}
	}
}
