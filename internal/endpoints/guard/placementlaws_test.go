package guard_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// follower drives a guard that follows a remote Service through what rapid draws. A node with
// a Pod passes; others answer or not, but do not pass, unless the program is told so.
type follower struct {
	*lab
	nodes []string
	// pods are the nodes with a Pod, and stray those that pass without one.
	pods, stray map[string]bool
	// named is how many nodes placements named, and when each was the newest one last.
	named []namedOnce
	// wrong says that the newest one is not to be trusted, trusted that it once was, heldUntil until when that is so at least,
	// and incompleteSince since when it names a node that is not listed.
	wrong           bool
	trusted         bool
	heldUntil       time.Time
	incompleteSince time.Time
	// taken are the nodes that an accepted placement took the Pod from, and that have not passed since
	// they had one again.
	taken map[string]bool
	// steps counts decisions: one of four is held to the laws.
	steps int
	// refusals counts the refusals in a row during which something else had passed RISE times.
	refusals map[string]int
	// constant is how each one fails while the world stands still; otherwise each failure is drawn.
	constant map[string]inventory.Outcome
}

type namedOnce struct {
	nodes int
	last  time.Time
}

func newFollower(t *rapid.T) *follower {
	f := &follower{lab: &lab{policy: defaults(), now: start}, nodes: strings.Fields(letters(8)), pods: map[string]bool{}, stray: map[string]bool{}, taken: map[string]bool{}, refusals: map[string]int{}}
	f.policy.MaxRemovalPercent = rapid.SampledFrom([]int{50, 50, 0, 34, 100}).Draw(t, "max removal")
	f.policy.DrainPeriod = rapid.SampledFrom([]time.Duration{30 * time.Second, 5 * time.Second}).Draw(t, "drain")
	f.inventory = letters(8)
	f.rollout(t)
	f.placement = placing(f.truth())
	f.readAs(t, f.inventory)
	f.round(t)
	f.round(t)
	return f
}

func (f *follower) truth() string {
	var list []string
	for _, name := range f.nodes {
		if f.pods[name] {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

// rollout puts Pods on some nodes.
func (f *follower) rollout(t *rapid.T) {
	for _, name := range f.nodes {
		f.pods[name] = rapid.Bool().Draw(t, "pod")
	}
}

func (f *follower) strays(t *rapid.T) {
	for _, name := range f.nodes {
		f.stray[name] = rapid.Bool().Draw(t, "stray")
	}
}

// some draws some of the names.
func some(t *rapid.T, names ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(names), func(string) bool { return rapid.IntRange(0, 2).Draw(t, "left out") == 0 }), " ")
}

func (f *follower) allDie(*rapid.T) { clear(f.pods); clear(f.stray) }

func (f *follower) placeTruth(t *rapid.T) { f.placeAs(t, f.truth()) }

func (f *follower) placeWrong(t *rapid.T) {
	f.placeAs(t, some(t, append(f.nodes[:8:8], "y", "z")...))
}

func (f *follower) placeFew(t *rapid.T)  { f.placeAs(t, rapid.SampledFrom(f.nodes).Draw(t, "only")) }
func (f *follower) placeNone(t *rapid.T) { f.placeAs(t, "") }

func (f *follower) placeAs(t *rapid.T, list string) {
	before := f.placement
	f.placement = placing(list)
	f.note(before)
	read := reading(f.inventory)
	read.Placement, read.Scheduled = f.placement, false
	f.step(t, &read)
}

func (f *follower) readAll(t *rapid.T)  { f.readAs(t, letters(8)) }
func (f *follower) readSome(t *rapid.T) { f.readAs(t, some(t, f.nodes...)) }

func (f *follower) readNone(t *rapid.T) { f.readAs(t, "") }

func (f *follower) readAs(t *rapid.T, list string) {
	f.inventory = list
	f.note(f.placement)
	read := reading(list)
	read.Placement = f.placement
	f.step(t, &read)
}

// note is the first sentence of contract 235: it says whether the newest placement is to be trusted.
func (f *follower) note(before *inventory.Placement) {
	ready, listed := f.placement.Ready, strings.Fields(f.inventory)
	if before != nil && before != f.placement && f.trusted {
		f.named = append(f.named, namedOnce{len(before.Ready), f.now})
	}
	unlisted := slices.ContainsFunc(ready, func(node string) bool { return !slices.Contains(listed, strings.TrimPrefix(node, "node-")) })
	usable := slices.ContainsFunc(ready, func(node string) bool { return slices.Contains(listed, strings.TrimPrefix(node, "node-")) })
	if !unlisted {
		f.incompleteSince = time.Time{}
	} else if f.incompleteSince.IsZero() {
		f.incompleteSince = f.now
	}
	if f.wrong && slices.ContainsFunc(f.verdict.Members, func(m inventory.Member) bool { return m.State.Serves() && !f.placed(nameOf(m.Address)) }) {
		f.heldUntil = f.now.Add(f.policy.DrainPeriod)
	}
	if !f.wrong || f.now.After(f.heldUntil) {
		f.named = slices.DeleteFunc(f.named, func(n namedOnce) bool { return f.now.Sub(n.last) > f.policy.DrainPeriod })
	}
	f.wrong = !usable
	for _, n := range f.named {
		f.wrong = f.wrong || float64(len(ready)) < float64(n.nodes)*float64(100-f.policy.MaxRemovalPercent)/100
	}
	f.trusted = f.trusted && before == f.placement || !f.wrong
	if !f.wrong {
		f.heldUntil = time.Time{}
	}
}

func (f *follower) placed(name string) bool {
	return slices.Contains(f.placement.Ready, "node-"+name)
}

func (f *follower) passes(name string) bool { return f.pods[name] || f.stray[name] }

// step decides, and checks that nothing goes that passes.
func (f *follower) step(t *rapid.T, read *guard.Inventory) {
	t.Helper()
	before := f.verdict.Members
	in := guard.Input{Now: f.now, Read: read, Health: f.health, Memory: f.verdict.Memory}
	if f.steps++; f.long || f.steps%4 != 0 {
		f.verdict = guard.Decide(in, f.policy)
	} else {
		f.verdict = decideLawfully(t, in, f.policy)
	}
	f.noteTaken()
	replaced := false
	for _, name := range strings.Fields(f.inventory) {
		replaced = replaced || f.placed(name) && f.health.Of(addr(name)).Passes >= f.policy.Rise
	}
	for _, m := range before {
		f.judge(t, m, replaced)
	}
	f.judgeKept(t, before, read)
	f.judgeDead(t, replaced)
	var watched []netip.Addr
	for _, w := range f.verdict.Watch {
		watched = append(watched, w.Address)
	}
	f.health = f.health.Only(watched)
	maps.DeleteFunc(f.refusals, func(name string, _ int) bool { return !slices.Contains(watched, addr(name)) })
}

// judge checks that one goes on to serve that passes.
func (f *follower) judge(t *rapid.T, m inventory.Member, replaced bool) {
	t.Helper()
	name, now := nameOf(m.Address), inventory.StateOf(f.verdict.Members, m.Address)
	switch {
	case !m.State.Serves() || f.health.Of(m.Address).Passes == 0 || !f.lists(name) && !f.kept(name):
	case !now.Serves() && f.takesNothing():
		t.Fatalf("%s passes and went from %s to %s by a placement that takes nothing away\n%s", name, m.State, now, f.explain())
	case !now.Serves() && !replaced:
		t.Fatalf("%s passes and went from %s to %s, and nothing is in its place\n%s", name, m.State, now, f.explain())
	case now != inventory.StateReady && m.State == inventory.StateReady && (f.takesNothing() || f.placed(name)):
		t.Fatalf("%s passes and went from %s to %s, placed %t\n%s", name, m.State, now, f.placed(name), f.explain())
	}
}

// judgeKept checks that what is left out is kept where the inventory is rejected together with the
// placement: that is told (16), and health alone does not empty it (15).
func (f *follower) judgeKept(t *rapid.T, before []inventory.Member, read *guard.Inventory) {
	t.Helper()
	kept := func(m inventory.Member) bool { return f.kept(nameOf(m.Address)) }
	serves := func(m inventory.Member) bool { return m.State.Serves() }
	if slices.ContainsFunc(f.verdict.Members, kept) && f.verdict.Mode == guard.Publish {
		t.Fatalf("got mode %s with %s, though both are rejected\n%s", f.verdict.Mode, f.states(), f.explain())
	}
	served := func(m inventory.Member) bool { return serves(m) && kept(m) }
	if read == nil && slices.ContainsFunc(before, served) && !slices.ContainsFunc(f.verdict.Members, serves) {
		t.Fatalf("health alone made %s of %s, though both are rejected\n%s", f.states(), statesOf(before), f.explain())
	}
}

// judgeDead checks that one is gone that refused FALL times while something was in its place.
func (f *follower) judgeDead(t *rapid.T, replaced bool) {
	t.Helper()
	if !replaced {
		clear(f.refusals)
	}
	for _, m := range f.verdict.Members {
		if f.refusals[nameOf(m.Address)] >= f.policy.Fall && m.State.Serves() {
			t.Fatalf("%s is dead and %s\n%s", nameOf(m.Address), m.State, f.explain())
		}
	}
}

// takesNothing reports whether the newest placement takes nothing away.
func (f *follower) takesNothing() bool {
	return f.wrong || !f.incompleteSince.IsZero() && f.now.Sub(f.incompleteSince) < 5*time.Minute
}

func (f *follower) lists(name string) bool { return slices.Contains(strings.Fields(f.inventory), name) }

// kept reports whether a node is left out by an inventory that is rejected together with the placement.
func (f *follower) kept(name string) bool {
	return !f.lists(name) && !f.taken[name] && f.takesNothing() && f.verdict.Memory.RejectedFor() != ""
}

// noteTaken notes which nodes an accepted placement takes away, or so many rejected inventories.
func (f *follower) noteTaken() {
	for _, name := range f.nodes {
		switch {
		case !f.placed(name) && !f.takesNothing(), slices.Contains(f.verdict.Accepted, addr(name)):
			f.taken[name] = true
		case f.placed(name) && f.lists(name) && f.health.Of(addr(name)).Passes > 0:
			delete(f.taken, name)
		}
	}
}

// round checks everything that is watched, and lets an interval pass.
func (f *follower) round(t *rapid.T) {
	for _, w := range f.verdict.Watch {
		outcome := f.check(t, nameOf(w.Address))
		f.health = fold(f.health, inventory.Result{Address: w.Address, At: f.now, Outcome: outcome})
		if f.refusals[nameOf(w.Address)]++; outcome != inventory.Refused {
			delete(f.refusals, nameOf(w.Address))
		}
		f.note(f.placement)
		f.step(t, nil)
	}
	f.clock(t, f.policy.Interval)
}

// check returns what a check finds.
func (f *follower) check(t *rapid.T, name string) inventory.Outcome {
	if f.passes(name) {
		return inventory.Pass
	}
	failure, known := f.constant[name]
	if !known {
		failure = rapid.SampledFrom([]inventory.Outcome{inventory.Silent, inventory.Silent, inventory.Refused}).Draw(t, "failure")
	}
	if f.constant != nil {
		f.constant[name] = failure
	}
	return failure
}

func (f *follower) clock(t *rapid.T, d time.Duration) {
	f.now = f.now.Add(d)
	f.note(f.placement)
	f.step(t, nil)
}

func (f *follower) wait(t *rapid.T) {
	f.clock(t, rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 40 * time.Second, 5 * time.Minute}).Draw(t, "passes"))
}

// again restarts, with what the placement and the inventory say now.
func (f *follower) again(t *rapid.T) {
	f.trusted = false
	f.health, f.wrong, f.incompleteSince, f.heldUntil, f.named = inventory.Health{}, false, time.Time{}, time.Time{}, nil
	clear(f.taken)
	clear(f.refusals)
	for _, m := range f.verdict.Members {
		if m.State != inventory.StateDraining {
			f.named = append(f.named, namedOnce{last: f.now})
		}
	}
	f.named = []namedOnce{{len(f.named), f.now}}
	f.verdict = guard.Verdict{Members: f.verdict.Members, Memory: guard.Recover(f.verdict.Members, f.now, nil, nil)}
	f.step(t, nil)
	f.readAs(t, f.inventory)
}

func TestContract235NothingThatPassesIsTakenAwayByAWrongPlacement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFollower(t)
		t.Repeat(map[string]func(*rapid.T){
			"rollout": func(t *rapid.T) { f.rollout(t); f.placeTruth(t) }, "placement": f.placeTruth, "wrong placement": f.placeWrong,
			"one named": f.placeFew, "none named": f.placeNone, "strays": f.strays, "all die": f.allDie, "inventory": f.readAll, "wrong inventory": f.readSome, "no inventory": f.readNone,
			"round": f.round, "round again": f.round, "round once more": f.round, "clock": f.wait, "restart": f.again,
		})
		f.constant = map[string]inventory.Outcome{}
		settles(t, func() []inventory.Member { return f.verdict.Members }, func() { f.readAs(t, f.inventory); f.round(t) })
		f.constant = nil
		clear(f.stray)
		f.pods["a"], f.long = true, true
		f.placeTruth(t)
		for second := range 60 {
			if second%15 == 0 {
				f.readAll(t)
			}
			f.round(t)
		}
		if got, want := f.states(), ready(f.truth()); got != want {
			t.Fatalf("got %s in a calm world, want %s\n%s", got, want, f.explain())
		}
	})
}
