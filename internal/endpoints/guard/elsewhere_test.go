package guard_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// lose delivers to each backend a check without a connection.
func (l *lab) lose(list string) {
	l.Helper()
	for _, name := range strings.Fields(list) {
		l.deliver(inventory.Result{Address: addr(name), At: l.now, Outcome: inventory.Silent, NoConnection: true})
	}
}

// elsewhere delivers that another replica connects to each backend, asked about its newest failure.
func (l *lab) elsewhere(list string) {
	l.Helper()
	for _, name := range strings.Fields(list) {
		streak := l.health.Of(addr(name))
		l.deliver(inventory.Result{Address: addr(name), At: streak.Last.At, Outcome: inventory.Elsewhere, Failures: streak.Unconnected.Failures, Message: "replica-b"})
	}
}

// asks are the backends that other replicas are asked about.
func (l *lab) asks() string {
	var names []string
	for _, a := range l.verdict.Asks {
		names = append(names, nameOf(a.Address))
	}
	return strings.Join(names, " ")
}

func TestContract239SilenceTakesDownWhatNoReplicaReaches(t *testing.T) {
	l := running(t, "a b c d e f")
	for range 20 {
		l.now = l.now.Add(2 * time.Second)
		l.lose("a b c")
		if got := l.asks(); got != "a b c" {
			t.Fatalf("got the questions %q, want a b c", got)
		}
		l.elsewhere("a b c")
		if got := l.asks(); got != "" { // nothing is asked twice
			t.Fatalf("got the questions %q after the answers, want none", got)
		}
		if got := len(l.verdict.Answered); got != 3 { // what says for how long another replica has reached more (contract 241)
			t.Fatalf("got %d answered questions, want 3", got)
		}
	}
	l.want(ready("a b c d e f"))
	l.wantMode("Publish")
	l.wantReason("a", inventory.ReadyElsewhere, "replica-b")
	if l.verdict.Elsewhere != 3 || l.verdict.Replica != "replica-b" {
		t.Errorf("got %d by %q, want 3 by replica-b", l.verdict.Elsewhere, l.verdict.Replica)
	}
	l.lose("a")
	l.lose("a")
	l.want(ready("a b c d e f"))
	l.lose("a")
	l.want("a=down b=ready c=ready d=ready e=ready f=ready")
	if got := l.asks(); got != "" {
		t.Errorf("got the questions %q, want none about what is down", got)
	}
}

func TestContract239ARefusalCountsAtOnce(t *testing.T) {
	l := running(t, "a b c")
	for range 5 {
		l.lose("a")
		l.elsewhere("a")
	}
	l.refuse("a")
	l.lose("a")
	l.elsewhere("a")
	l.refuse("a")
	l.want(ready("a b c"))
	l.refuse("a")
	l.want("a=down b=ready c=ready")
}

func TestContract239AnAnswerThatHangsAsksNothing(t *testing.T) {
	l := running(t, "a b c")
	l.silence("a a")
	if got := l.asks(); got != "" {
		t.Errorf("got the questions %q, want none: the connection was answered", got)
	}
	l.silence("a")
	l.want("a=down b=ready c=ready")
}

func TestContract239AnAnswerIsForWhatWasAsked(t *testing.T) {
	l := running(t, "a b c")
	l.lose("a")
	asked := l.verdict.Asks[0]
	answer := inventory.Result{Address: asked.Address, At: asked.At, Outcome: inventory.Elsewhere, Failures: asked.Failures, Message: "replica-b"}
	l.now = l.now.Add(time.Second)
	l.lose("a a")
	l.deliver(answer) // late, and once more
	l.deliver(answer)
	l.want("a=down b=ready c=ready")

	l = running(t, "a b c")
	l.lose("a a")
	l.deliver(answer)
	l.lose("a")
	l.want(ready("a b c")) // two of three count
	l.pass("a")
	l.now = l.now.Add(time.Second)
	l.lose("a a")
	l.deliver(answer) // to a silence of before
	l.lose("a")
	l.want("a=down b=ready c=ready")
}

func TestContract240AConnectionElsewhereOnlyHolds(t *testing.T) {
	l := running(t, "a b c")
	l.lose("a a a")
	l.want("a=down b=ready c=ready")
	for range 10 { // nothing returns
		l.lose("a")
		l.elsewhere("a")
	}
	l.want("a=down b=ready c=ready")
	l.read("a b c d") // nothing joins
	l.lose("d")
	l.elsewhere("d")
	l.want("a=down b=ready c=ready")

	l = running(t, "a b")
	l.read("a d") // nothing replaces what leaves
	l.lose("a d")
	l.elsewhere("a d")
	l.wait(l.policy.DrainPeriod)
	l.want("a=ready b=ready")
	l.wantReason("b", inventory.ReadyDraining)
}

func TestContract240WhatLeavesAndIsReachedElsewhereDrainsOn(t *testing.T) {
	l := running(t, "a b c d")
	l.read("a! b c d")
	l.want("a=draining b=ready c=ready d=ready")
	for range 5 {
		l.lose("a")
		l.elsewhere("a")
	}
	l.want("a=draining b=ready c=ready d=ready")
	l.wait(l.policy.DrainPeriod)
	l.want(ready("b c d"))
}

func TestContract239FallOfOneWaitsForAnAnswer(t *testing.T) {
	l := running(t, "a b c")
	l.policy.Fall, l.policy.AnswerWait = 1, 100*time.Millisecond
	l.lose("a")
	l.want(ready("a b c"))
	if until := l.now.Add(100 * time.Millisecond); !l.verdict.Next.Equal(until) {
		t.Errorf("got the next decision at %s, want %s", l.verdict.Next, until)
	}
	l.elsewhere("a")
	l.wait(time.Second)
	l.want(ready("a b c"))
	l.lose("a")
	l.wait(100 * time.Millisecond)
	l.want("a=down b=ready c=ready")
	l.refuse("b")
	l.want("a=down b=down c=ready")
}

// twoReplicas lets time pass in which a leader checks its endpoints as package health does, and a
// standby answers what it is asked: leader and standby say what they reach at a time.
type twoReplicas struct {
	*lab
	backends        []string
	leader, standby func(name string, since time.Duration) inventory.Outcome
	// gone says whether the standby answers nothing; nil where it always answers.
	gone  func(since time.Duration) bool
	due   map[string]time.Duration
	since time.Duration
	asked map[string]ask
	// downs is when each was first seen not ready.
	downs map[string]time.Duration
}

// ask is a question, and when the standby gives up.
type ask struct {
	guard.Ask
	missed time.Duration
}

func (r *twoReplicas) run(lasts time.Duration) {
	r.Helper()
	if r.due == nil {
		r.due, r.downs, r.asked = make(map[string]time.Duration), make(map[string]time.Duration), make(map[string]ask)
		for i, name := range r.backends {
			r.due[name] = time.Duration(i) * r.policy.Interval / time.Duration(len(r.backends))
		}
	}
	r.long = true
	const step, timeout = 50 * time.Millisecond, time.Second
	for end := r.since + lasts; r.since < end; r.since += step {
		r.now = r.now.Add(step)
		for _, name := range r.backends {
			if r.since < r.due[name] {
				continue
			}
			out := r.leader(name, r.since)
			result := inventory.Result{Address: addr(name), At: r.now, Outcome: out}
			if out == inventory.Silent {
				result.At, result.NoConnection, result.Latency = r.now.Add(-timeout), true, timeout
			}
			r.deliver(result)
			r.due[name] = r.since + r.policy.Interval
			for _, w := range r.verdict.Watch {
				if w.Address == addr(name) && w.Urgent {
					r.due[name] = r.since + timeout/2 // silent checks overlap
				}
			}
		}
		for _, a := range r.verdict.Asks {
			if r.gone != nil && r.gone(r.since) {
				delete(r.asked, nameOf(a.Address))
				continue
			}
			name := nameOf(a.Address)
			if asked, ok := r.asked[name]; !ok || asked.At != a.At {
				r.asked[name] = ask{a, r.since + timeout*5/4}
			}
			answer := inventory.Result{Address: a.Address, At: a.At, Outcome: inventory.Elsewhere, Failures: a.Failures, Message: "replica-b"}
			if answer.Missed = r.standby(name, r.since) != inventory.Pass; !answer.Missed || r.since == r.asked[name].missed {
				r.deliver(answer)
			}
		}
		for _, name := range r.backends {
			if _, seen := r.downs[name]; !seen && inventory.StateOf(r.verdict.Members, addr(name)) != inventory.StateReady {
				r.downs[name] = r.since
			}
		}
	}
}

// reaches returns what a replica learns that reaches only some backends, all of which work but the dead.
func reaches(some string, dead map[string]time.Duration) func(string, time.Duration) inventory.Outcome {
	return func(name string, since time.Duration) inventory.Outcome {
		died, dies := dead[name]
		if !strings.Contains(some, name) || dies && since >= died {
			return inventory.Silent
		}
		return inventory.Pass
	}
}

func TestContract239OfALeaderThatIsCutOff(t *testing.T) {
	six, ten := "a b c d e f", "a b c d e f g h i j"
	tests := []struct {
		name, all, leader, standby string
		dead                       map[string]time.Duration
		// down is what goes down, each within six seconds of its death.
		down string
	}{
		{"from one of six", six, "b c d e f", six, nil, ""},
		{"from three of six", six, "d e f", six, nil, ""},
		{"from five of six", six, "f", six, nil, ""},
		{"from all of six", six, "", six, nil, ""},
		{"from all of six, one dies", six, "", six, map[string]time.Duration{"c": 31 * time.Second}, "c"},
		{"from all of six, one after the other dies", six, "", six, map[string]time.Duration{"c": 31 * time.Second, "e": 62 * time.Second}, "c e"},
		{"from three of six, one of these dies", six, "d e f", six, map[string]time.Duration{"a": 31 * time.Second}, "a"},
		{"from all of ten, the standby from four", ten, "", "a c e g i j", nil, ""},
		{"from all of two, one dies", "a b", "", "a b", map[string]time.Duration{"b": 31 * time.Second}, "b"},
		{"from all, and so is the standby", six, "", "", nil, ""},
		{"from the only one", "a", "", "a", nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &twoReplicas{lab: running(t, test.all), backends: strings.Fields(test.all), leader: reaches(test.leader, test.dead), standby: reaches(test.standby, test.dead)}
			r.run(2 * time.Minute)
			for _, name := range r.backends {
				at, down := r.downs[name]
				switch {
				case down != strings.Contains(test.down, name):
					t.Errorf("%s is down: %t (after %s)\n%s", name, down, at, r.explain())
				case down && (at < test.dead[name] || at > test.dead[name]+6*time.Second):
					t.Errorf("%s died after %s and was down after %s, want it within 6 s", name, test.dead[name], at)
				}
			}
		})
	}
}

// A standby that dies and comes back while the leader reaches nothing is as none meanwhile: nothing goes
// down, at no moment.
func TestContract239AStandbyThatComesAndGoesTakesNothingDown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(rt, "endpoints")
		all := letters(n)
		blind := rapid.StringMatching("[a-h]{0,8}").Draw(rt, "what the standby never reaches")
		var away []time.Duration // turns of the standby between all and nothing
		for at := time.Duration(0); at < 90*time.Second; {
			at += time.Duration(rapid.IntRange(100, 12_000).Draw(rt, "turn")) * time.Millisecond
			away = append(away, at)
		}
		gone := func(since time.Duration) bool {
			turns := 0
			for turns < len(away) && away[turns] <= since {
				turns++
			}
			return turns%2 == 1
		}
		l := running(t, all)
		r := &twoReplicas{lab: l, backends: strings.Fields(all), leader: reaches("", nil), standby: func(name string, since time.Duration) inventory.Outcome {
			if len(blind) > 1 && strings.Contains(blind, name) {
				return inventory.Silent
			}
			return inventory.Pass
		}, gone: gone}
		r.run(90 * time.Second)
		missed := 0
		for _, name := range r.backends {
			if len(blind) > 1 && strings.Contains(blind, name) {
				missed++
			}
		}
		for name, at := range r.downs {
			if missed != 1 || !strings.Contains(blind, name) {
				rt.Fatalf("%s of %s is down after %s; the standby never reaches %q\n%s", name, all, at, blind, l.explain())
			}
		}
	})
}

// After a change of leader the new one has seen nothing pass.
func TestContract239AConnectionElsewhereProvesThatFailuresCount(t *testing.T) {
	l := restarted(t, "a=ready b=ready c=ready d=ready")
	l.read("a b c d")
	l.lose("a b c d a b c d a b c d a b c d")
	l.want(ready("a b c d"))
	l.elsewhere("a b c d")
	l.refuse("a a a")
	l.want("a=down b=ready c=ready d=ready")
}

func TestContract242OneQuestionHasAtMost256Endpoints(t *testing.T) {
	l := newLab(t)
	l.long = true
	read := guard.Inventory{Nodes: 3000, Scheduled: true}
	var results []inventory.Result
	for i := range read.Nodes {
		at := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		read.Candidates = append(read.Candidates, inventory.Candidate{Node: inventory.Identity{Name: fmt.Sprint(i)}, Address: at})
		results = append(results, inventory.Result{Address: at, At: l.now, Outcome: inventory.Pass})
	}
	l.decide(&read)
	l.health = l.health.Fold(results, count)
	l.decide(nil)
	for i := range results {
		results[i].Outcome, results[i].NoConnection = inventory.Silent, true
	}
	l.health = l.health.Fold(results, count)
	l.decide(nil)
	if len(l.verdict.Members) != 3000 || len(l.verdict.Asks) != guard.MaxAsks {
		t.Errorf("got %d questions about %d endpoints, want %d about 3,000", len(l.verdict.Asks), len(l.verdict.Members), guard.MaxAsks)
	}
}
