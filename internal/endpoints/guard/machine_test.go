package guard_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// backend is one machine of the real world. The guard knows it by reads and probes
// only.
type backend struct {
	// listed and leaving are what a good read says of it; node distinguishes machines
	// that had the address one after the other.
	listed, leaving bool
	node            int
	// alive backends answer, and mute backends are silent when they are dead. Clients
	// can reach cut backends, but the prober cannot.
	alive, mute, cut bool
}

// machine drives a guard through a world that rapid draws.
type machine struct {
	policy   guard.Policy
	now      time.Time
	names    []string
	backends map[string]*backend
	health   inventory.Health
	verdict  guard.Verdict
	models   map[bool]*model // by being IPv4
	// written is what the slices hold; writes fail while broken.
	written []inventory.Member
	broken  bool
	// recovered is what the slices held at the last restart.
	recovered []inventory.Member
	// asked are the questions to other replicas, also those of streaks that are over.
	asked []guard.Ask
	// joinedUnproved says that the last decision published new endpoints as down.
	joinedUnproved bool
}

// drawPolicy draws what an operator may have configured.
func drawPolicy(t *rapid.T) guard.Policy {
	return guard.Policy{
		HealthOff:         rapid.IntRange(0, 19).Draw(t, "health off") == 0,
		Rise:              rapid.IntRange(1, 3).Draw(t, "rise"),
		Fall:              rapid.IntRange(1, 4).Draw(t, "fall"),
		Interval:          2 * time.Second,
		MaxSilentPercent:  rapid.SampledFrom([]int{50, 50, 0, 34, 67, 100}).Draw(t, "max silent"),
		FailOpen:          rapid.IntRange(0, 3).Draw(t, "fail closed") > 0,
		Threshold:         rapid.IntRange(0, 3).Draw(t, "threshold"),
		MaxRemovalPercent: rapid.SampledFrom([]int{50, 50, 0, 34, 67, 100}).Draw(t, "max removal"),
		DrainPeriod:       rapid.SampledFrom([]time.Duration{30 * time.Second, 5 * time.Second, 0}).Draw(t, "drain"),
		AnswerWait:        rapid.SampledFrom([]time.Duration{0, 100 * time.Millisecond}).Draw(t, "answer wait"),
	}
}

func newMachine(t *rapid.T, policy guard.Policy) *machine {
	m := &machine{
		policy: policy, now: start, names: []string{"a", "b", "c", "d", "e", "A", "B"},
		backends: map[string]*backend{},
	}
	for _, name := range m.names {
		m.backends[name] = &backend{listed: rapid.Bool().Draw(t, "listed "+name), alive: true}
	}
	m.newModels()
	if rapid.Bool().Draw(t, "running") {
		m.goodRead(t)
		m.round(t)
	}
	return m
}

func (m *machine) newModels() {
	m.models = map[bool]*model{}
	for _, is4 := range []bool{true, false} {
		m.models[is4] = &model{policy: m.policy, records: map[netip.Addr]*record{}}
	}
}

// actions are all that can happen.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"good read": m.goodRead, "good read again": m.goodRead, "bad read": m.badRead,
		"source error": m.sourceError, "probe": m.probeOne, "probe again": m.probeOne,
		"round": m.round, "round again": m.round, "batch": m.batch, "trouble": m.trouble,
		"pass and fail at once": m.blink,
		"join or leave":         m.change(func(b *backend) { b.listed = !b.listed; b.leaving = false }),
		"announce":              m.change(func(b *backend) { b.leaving = !b.leaving }),
		"move":                  m.change(func(b *backend) { b.node++; b.alive = true }),
		"die or revive":         m.change(func(b *backend) { b.alive = !b.alive }),
		"mute":                  m.change(func(b *backend) { b.mute = !b.mute }),
		"cut":                   m.change(func(b *backend) { b.cut = !b.cut }),
		"cut all":               m.every(func(b *backend) { b.cut = true }),
		"cut none":              m.every(func(b *backend) { b.cut = false }),
		"all die":               m.every(func(b *backend) { b.alive = false }),
		"clock":                 m.clock, "restart": m.restart,
		"answer": m.answerOne, "answer again": m.answerOne, "answer all": m.answerAll,
		"writes break or heal": func(*rapid.T) { m.broken = !m.broken },
	}
}

func (m *machine) change(do func(*backend)) func(*rapid.T) {
	return func(t *rapid.T) { do(m.backends[rapid.SampledFrom(m.names).Draw(t, "backend")]) }
}

func (m *machine) every(do func(*backend)) func(*rapid.T) {
	return func(*rapid.T) {
		for _, b := range m.backends {
			do(b)
		}
	}
}

// inventoryOf is what a good read lists among these names.
func (m *machine) inventoryOf(names []string) []inventory.Candidate {
	var listed []inventory.Candidate
	for _, name := range names {
		if b := m.backends[name]; b.listed {
			listed = append(listed, inventory.Candidate{
				Address: addr(name), Leaving: b.leaving, Node: inventory.Identity{Name: fmt.Sprintf("%s-%d", name, b.node)},
			})
		}
	}
	slices.SortFunc(listed, inventory.CompareCandidates)
	return listed
}

func (m *machine) goodRead(t *rapid.T) {
	listed := m.inventoryOf(m.names)
	m.decide(t, &guard.Inventory{Nodes: len(listed), Candidates: listed, Scheduled: rapid.Bool().Draw(t, "scheduled")})
}

// badRead is a read that some mistake upstream has damaged.
func (m *machine) badRead(t *rapid.T) {
	read := guard.Inventory{Nodes: rapid.IntRange(0, 9).Draw(t, "nodes"), Scheduled: rapid.Bool().Draw(t, "scheduled")}
	if kind := rapid.SampledFrom([]string{"none", "part", "part", "twins", "all leave", "taken over", "strangers"}).Draw(t, "kind"); kind != "none" {
		for _, c := range m.inventoryOf(m.names) {
			c.Leaving = c.Leaving || kind == "all leave"
			switch {
			case kind == "all leave" || rapid.Bool().Draw(t, "list"):
				read.Candidates = append(read.Candidates, c)
			case kind == "taken over" && rapid.Bool().Draw(t, "by another"):
				c.Node.Name = rapid.SampledFrom([]string{"other", c.Node.Name}).Draw(t, "node")
				read.Ineligible = append(read.Ineligible, c)
			}
		}
		if kind == "strangers" {
			read.Candidates = m.strangers(t)
		}
		read.Nodes = max(read.Nodes, len(read.Candidates))
		if kind == "twins" {
			read.Decisions = []inventory.Decision{{Stage: inventory.StageFilter, Reason: inventory.DuplicateAddress}}
		}
	}
	m.decide(t, &read)
}

// strangers are nodes of another pool, in place of those that the inventory lists.
func (m *machine) strangers(t *rapid.T) []inventory.Candidate {
	var listed []inventory.Candidate
	for _, name := range m.names {
		if b := m.backends[name]; !b.listed && rapid.Bool().Draw(t, "stranger") {
			listed = append(listed, inventory.Candidate{Address: addr(name), Node: inventory.Identity{Name: fmt.Sprintf("%s-%d", name, b.node)}})
		}
	}
	slices.SortFunc(listed, inventory.CompareCandidates)
	return listed
}

// sourceError is no read at all: S6, nothing changes but what the last decision has
// changed for the next, such as a member less in the N of contract 14.
func (m *machine) sourceError(t *rapid.T) {
	m.decide(t, nil)
	before, joinedUnproved := statesOf(m.verdict.Members), m.joinedUnproved
	m.decide(t, nil)
	if got := statesOf(m.verdict.Members); got != before && !joinedUnproved {
		t.Fatalf("S6: a source error made %q of %q", got, before)
	}
}

// ask is what a probe of the address learns in this world.
func (m *machine) ask(t *rapid.T, a netip.Addr) inventory.Result {
	r := inventory.Result{Address: a, At: m.now, Outcome: inventory.Pass}
	if rapid.IntRange(0, 4).Draw(t, "in flight") == 0 {
		r.At = m.now.Add(-time.Second)
	}
	if last := m.health.Of(a).Last.At; !r.At.After(last) { // no two checks are sent at once
		r.At = last.Add(1)
	}
	switch b := m.backends[nameOf(a)]; {
	case b.cut, !b.alive && b.mute:
		r.Outcome = inventory.Silent
		r.NoConnection = b.cut || rapid.Bool().Draw(t, "no connection")
	case !b.alive:
		r.Outcome = inventory.Refused
	}
	return r
}

func (m *machine) take(r inventory.Result) {
	if m.policy.HealthOff {
		return
	}
	m.health = fold(m.health, r)
	m.models[r.Address.Is4()].hear(r)
}

func (m *machine) probeOne(t *rapid.T) {
	if len(m.verdict.Watch) == 0 {
		t.Skip("nothing is watched")
	}
	m.take(m.ask(t, rapid.SampledFrom(m.verdict.Watch).Draw(t, "probed").Address))
	m.decide(t, nil)
}

// answerOne answers some question, in time or late, perhaps once more.
func (m *machine) answerOne(t *rapid.T) {
	if len(m.asked) == 0 {
		t.Skip("nothing was asked")
	}
	m.answer(rapid.SampledFrom(m.asked).Draw(t, "asked"), rapid.IntRange(0, 2).Draw(t, "missed") == 0)
	m.decide(t, nil)
}

// answerAll is a standby that reaches all that clients reach.
func (m *machine) answerAll(t *rapid.T) {
	for _, a := range m.verdict.Asks {
		m.answer(a, !m.backends[nameOf(a.Address)].alive)
	}
	m.decide(t, nil)
}

func (m *machine) answer(a guard.Ask, missed bool) {
	m.take(inventory.Result{Address: a.Address, At: a.At, Outcome: inventory.Elsewhere, Failures: a.Failures, Message: "replica-b", Missed: missed})
}

// round probes every watched endpoint, in some order, and decides after each.
func (m *machine) round(t *rapid.T) {
	for _, w := range rapid.Permutation(m.verdict.Watch).Draw(t, "round") {
		if slices.ContainsFunc(m.verdict.Watch, func(now inventory.Watch) bool { return now.Address == w.Address }) {
			m.take(m.ask(t, w.Address))
			m.decide(t, nil)
		}
	}
	m.now = m.now.Add(m.policy.Interval)
	m.decide(t, nil)
}

// batch probes every watched endpoint and decides once.
func (m *machine) batch(t *rapid.T) {
	for _, w := range m.verdict.Watch {
		m.take(m.ask(t, w.Address))
	}
	m.decide(t, nil)
}

// blink folds a pass and a failure into one decision.
func (m *machine) blink(t *rapid.T) {
	if len(m.verdict.Watch) == 0 {
		t.Skip("nothing is watched")
	}
	r := m.ask(t, rapid.SampledFrom(m.verdict.Watch).Draw(t, "blinks").Address)
	r.Outcome = inventory.Pass
	m.take(r)
	r.Outcome = rapid.SampledFrom([]inventory.Outcome{inventory.Refused, inventory.Silent}).Draw(t, "failure")
	m.take(r)
	m.decide(t, nil)
}

func (m *machine) trouble(t *rapid.T) {
	if len(m.verdict.Watch) == 0 {
		t.Skip("nothing is watched")
	}
	a := rapid.SampledFrom(m.verdict.Watch).Draw(t, "troubled").Address
	m.take(inventory.Result{Address: a, At: m.now, Outcome: inventory.LocalError})
	m.decide(t, nil)
}

func (m *machine) clock(t *rapid.T) {
	m.now = m.now.Add(rapid.SampledFrom([]time.Duration{
		100 * time.Millisecond, time.Second, 3 * time.Second, 6 * time.Second, 10 * time.Second, time.Hour,
	}).Draw(t, "passes"))
	m.decide(t, nil)
}

// restart forgets everything but the slices.
func (m *machine) restart(t *rapid.T) {
	m.newModels()
	for _, member := range m.written {
		m.models[member.Address.Is4()].recoverFrom([]inventory.Member{member}, m.now)
	}
	m.health, m.recovered = inventory.Health{}, m.written
	m.verdict = guard.Verdict{Members: m.written, Memory: guard.Recover(m.written, m.now, nil, nil)}
	m.decide(t, nil)
	if got, want := statesOf(m.verdict.Members), statesOf(m.written); got != want {
		t.Fatalf("contract 28: the restart made %q of %q", got, want)
	}
}

func TestGuardKeepsTheContractWhateverHappens(t *testing.T) {
	quick := defaults()
	quick.Threshold, quick.DrainPeriod, quick.Fall = 2, 5*time.Second, 2
	closed := quick
	closed.FailOpen = false
	for name, policyOf := range map[string]func(*rapid.T) guard.Policy{
		"with any policy":                   drawPolicy,
		"with the defaults":                 func(*rapid.T) guard.Policy { return defaults() },
		"with a small threshold":            func(*rapid.T) guard.Policy { return quick },
		"with HEALTH_CHECK_FAIL_OPEN=false": func(*rapid.T) guard.Policy { return closed },
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := newMachine(t, policyOf(t))
				t.Repeat(m.actions())
				m.calm(t)
			})
		})
	}
}

func TestContract22AWorldThatStandsStillIsNotWrittenAgainAndAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := drawPolicy(t)
		policy.HealthOff, policy.DrainPeriod = rapid.Bool().Draw(t, "no health checks"), time.Hour
		m := newMachine(t, policy)
		t.Repeat(m.actions())
		m.still(t)
	})
}
