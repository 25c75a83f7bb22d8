package guard_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// eight are the nodes of the laboratory.
const eight = "a b c d e f g h"

// placing returns a placement: "a b c!" has ready Pods on the nodes of a and b, and one that
// ends on that of c.
func placing(list string) *inventory.Placement {
	p := &inventory.Placement{Found: true, Local: true, NodePorts: []uint16{30080}}
	for _, word := range strings.Fields(list) {
		name, ending := strings.CutSuffix(word, "!")
		if ending {
			p.Ending = append(p.Ending, "node-"+name)
		} else {
			p.Ready = append(p.Ready, "node-"+name)
		}
	}
	slices.Sort(p.Ready)
	slices.Sort(p.Ending)
	return p
}

// place decides on another placement, with the inventory of before.
func (l *lab) place(list string) {
	l.Helper()
	l.placement = placing(list)
	read := reading(l.inventory)
	read.Placement, read.Scheduled = l.placement, false
	l.decide(&read)
}

// following returns a lab in which all of the nodes are listed and the backends that are
// placed are published and have passed RISE times.
func following(t testing.TB, nodes, placed string) *lab {
	t.Helper()
	l := newLab(t)
	l.placement = placing(placed)
	l.read(nodes)
	l.pass(placed)
	l.pass(placed)
	return l
}

// wantTold checks what is told of the placement.
func (l *lab) wantTold(reason inventory.Reason, parts ...string) {
	l.Helper()
	got := l.verdict.Placement
	if got.Reason != reason {
		l.Errorf("got %q told (%s), want %q", got.Reason, got.Message, reason)
	}
	for _, part := range parts {
		if !strings.Contains(got.Message, part) {
			l.Errorf("got message %q, want it to name %q", got.Message, part)
		}
	}
}

// TestContract54ARejectedPlacementWithoutADrainPeriodAsksForNoDecisionAtOnce: else the loop of the group
// decides without a pause while it lasts.
func TestContract54ARejectedPlacementWithoutADrainPeriodAsksForNoDecisionAtOnce(t *testing.T) {
	l := following(t, eight, eight)
	l.policy.DrainPeriod = 0
	l.place("a")
	for range 3 {
		l.wait(time.Second)
		if next := l.verdict.Next; !next.IsZero() && next.Sub(l.now) < time.Second {
			t.Errorf("wants to decide again in %s, want a second at least", next.Sub(l.now))
		}
	}
}

func TestContract234OnlyNodesWithAReadyPodJoin(t *testing.T) {
	l := following(t, eight, "a b c")
	l.want("a=ready b=ready c=ready")
	l.wantReason("d", inventory.NoPod, "no ready Pod", "neither checked nor published")
	for _, w := range l.verdict.Watch {
		if nameOf(w.Address) > "c" {
			t.Errorf("%s is checked", nameOf(w.Address))
		}
	}
	if !l.verdict.Checked() {
		t.Error("nodes without a Pod are waited for")
	}
	l.place("a b c d")
	l.want("a=ready b=ready c=ready")
	l.pass("d")
	l.want("a=ready b=ready c=ready d=ready")
	if got := l.verdict.Placement; got.Named != 4 || got.Reason != "" {
		t.Errorf("got %+v, want four nodes and nothing to tell", got)
	}
}

func TestContract234EndpointsWithoutAPodDrainAndGo(t *testing.T) {
	for _, now := range []string{"b c d", "a! b c d"} {
		l := following(t, eight, "a b c")
		l.play([]step{
			{"a Pod is added", func(l *lab) { l.place("a b c d"); l.pass("d") }, "a=ready b=ready c=ready d=ready"},
			{"one goes", func(l *lab) { l.place(now) }, "a=draining b=ready c=ready d=ready"},
			{"almost DRAIN_PERIOD later", func(l *lab) { l.wait(30*time.Second - 1); l.read(eight) }, "a=draining b=ready c=ready d=ready"},
			{"DRAIN_PERIOD later", func(l *lab) { l.wait(1) }, "b=ready c=ready d=ready"},
			{"a late pass", func(l *lab) { l.pass("a"); l.read(eight) }, "b=ready c=ready d=ready"},
		})
		l.wantReason("a", inventory.NoPod)
	}
	l := following(t, eight, "a b c")
	l.place("b c")
	l.wantReason("a", inventory.Draining, "no ready Pod is on node node-a", "DRAIN_PERIOD=30s")
	if got, want := l.verdict.Next, l.now.Add(30*time.Second); !got.Equal(want) {
		t.Errorf("got next %s, want %s", got, want)
	}
	l.refuse("a a")
	l.want("a=draining b=ready c=ready")
	l.refuse("a")
	l.want("b=ready c=ready")
	l.wantReason("a", inventory.NoPod, "no ready Pod is on node node-a", "HEALTH_CHECK_FALL=3", "removed")
	l.wantMode("Publish")
}

func TestContract234NothingDrainsBeforeAPlacedOnePassesRiseTimes(t *testing.T) {
	l := following(t, eight, "a b c")
	l.play([]step{
		{"all Pods move", func(l *lab) { l.place("d e f") }, "a=ready b=ready c=ready"},
		{"for an hour", func(l *lab) { l.wait(time.Hour); l.pass("a b c") }, "a=ready b=ready c=ready"},
		{"one passes once", func(l *lab) { l.pass("d") }, "a=ready b=ready c=ready d=ready"},
		{"and twice", func(l *lab) { l.pass("d") }, "a=draining b=draining c=draining d=ready"},
	})
}

// A remote API server that was restored says what its backup says, until its controllers have
// caught up. Where that names as many nodes it is accepted, also if most are others.
func TestContract234ABackupThatNamesOtherNodesRemovesNothing(t *testing.T) {
	l := following(t, eight, "a b c")
	l.play([]step{
		{"no Pod is where it says", func(l *lab) { l.place("d e f"); l.refuse("d d d e e e f f f"); l.wait(time.Hour); l.pass("a b c") }, "a=ready b=ready c=ready"},
		{"over", func(l *lab) { l.place("a b c") }, "a=ready b=ready c=ready"},
		{"one Pod is where it says", func(l *lab) { l.place("a d e"); l.refuse("d d d e e e"); l.pass("a a b c") }, "a=ready b=draining c=draining"},
		{"for almost DRAIN_PERIOD", func(l *lab) { l.wait(30*time.Second - 1); l.pass("a b c") }, "a=ready b=draining c=draining"},
		{"over", func(l *lab) { l.place("a b c") }, "a=ready b=ready c=ready"},
	})
}

func TestContract234PlacedAgainItCountsAfterAPass(t *testing.T) {
	l := following(t, eight, "a b c d")
	l.place("a b c")
	l.refuse("d d")
	l.place("a b c d")
	l.want("a=ready b=ready c=ready d=ready")
	l.refuse("d")
	l.want("a=ready b=ready c=ready d=down")
	l.place("a b c")
	l.want("a=ready b=ready c=ready")
	t.Run("it is checked fast for FALL intervals", func(t *testing.T) {
		l := *l
		l.TB = t
		urgent := func() bool { return l.urgent("d") }
		l.place("a b c d")
		if l.refuse("d"); !urgent() {
			t.Error("a node that was just named is not checked fast")
		}
		l.wait(6*time.Second - 1)
		if !urgent() {
			t.Error("within FALL intervals it is not checked fast")
		}
		if l.wait(1); urgent() {
			t.Error("after FALL intervals it is still checked fast")
		}
	})
	t.Run("or until it has passed RISE times", func(t *testing.T) {
		l := newLab(t)
		l.placement = placing("a b")
		l.read(eight)
		if l.refuse("a"); !l.urgent("a") {
			t.Error("a node of the first placement is not checked fast")
		}
		if l.pass("a a"); l.urgent("a") {
			t.Error("one that passes is checked fast")
		}
	})
	t.Run("silence of it does not count before", func(t *testing.T) {
		l := following(t, eight, "a b c d")
		l.place("a b")
		l.silence("c c d d")
		l.place("a b c d") // of a and b one may be silent
		l.silence("a a a")
		l.want("a=down b=ready c=ready d=ready")
		l.wantMode("Publish")
	})
	t.Run("unless a rejected placement left it out", func(t *testing.T) {
		l := following(t, eight, "a b c d")
		l.silence("a b")
		l.place("")
		l.place("a b c d")
		l.silence("a b c a b c a b c")
		l.want("a=ready b=ready c=ready d=ready")
		l.wantMode("Hold ProbesSilent")
	})
	t.Run("and it makes no inventory acceptable", func(t *testing.T) {
		l := following(t, "a b c d", "a b c d")
		l.place("a b")
		l.silence("c c d d")
		l.place("a b c d")
		l.read("c d")
		l.wantMode("Hold TooManyRemovals")
	})
}

// urgent reports whether a backend is checked fast.
func (l *lab) urgent(name string) bool {
	return slices.Contains(l.verdict.Watch, inventory.Watch{Address: addr(name), Urgent: true})
}

// TestContract235TwoRolloutsNeverHold is what was measured behind externalTrafficPolicy: Local
// before there was a placement: five of eight were silent, and three dead ones stayed ready for 250 s.
func TestContract235TwoRolloutsNeverHold(t *testing.T) {
	s := beginFollowing(t, eight, "a b c")
	s.each = func(s *story) {
		if s.verdict.Mode != guard.Publish || s.verdict.Placement.Reason != "" {
			t.Fatalf("got %s, %+v at %s", s.mode(), s.verdict.Placement, s.now.Sub(start))
		}
	}
	for _, pods := range []string{"d e f", "g h a"} {
		before := strings.Fields(s.alive)
		for i, next := range strings.Fields(pods) {
			s.rollout(strings.Join(before[i:], " ") + " " + strings.Join(strings.Fields(pods)[:i], " ") + " " + next)
			s.during(2 * time.Second)
			s.rollout(strings.Join(before[i+1:], " ") + " " + strings.Join(strings.Fields(pods)[:i+1], " "))
			s.during(2 * time.Second)
		}
		s.during(33 * time.Second)
		if got := s.states(); got != ready(sorted(pods)) {
			t.Errorf("got %s, want %s", got, ready(sorted(pods)))
		}
	}
	t.Run("all at once", func(t *testing.T) {
		s := beginFollowing(t, eight, "a b c")
		s.each = func(s *story) {
			if s.verdict.Mode != guard.Publish {
				t.Fatalf("got %s", s.mode())
			}
		}
		for _, pods := range []string{"d e f", "g h a"} {
			s.rollout(pods)
			s.during(7 * time.Second)
			if got := s.states(); got != ready(sorted(pods)) {
				t.Errorf("got %s after 7 s, want %s", got, ready(sorted(pods)))
			}
			s.during(38 * time.Second)
		}
	})
}

// sorted sorts names.
func sorted(list string) string {
	names := strings.Fields(list)
	slices.Sort(names)
	return strings.Join(names, " ")
}

// beginFollowing is a story behind externalTrafficPolicy: Local: a node without a Pod is silent.
func beginFollowing(t *testing.T, nodes, placed string) *story {
	t.Helper()
	s := begin(t, "")
	s.lab = following(t, nodes, placed)
	s.long, s.policy.PollInterval, s.listed, s.alive = true, 30*time.Second, nodes, placed
	s.rollout(placed)
	return s
}

// rollout moves the Pods, which the placement says at once.
func (s *story) rollout(pods string) {
	s.alive = pods
	for _, name := range strings.Fields(s.listed) {
		s.mute[name] = !slices.Contains(strings.Fields(pods), name)
	}
	s.place(pods)
}

func TestContract235AScaleDownIsRejectedAndTellsNothing(t *testing.T) {
	s := beginFollowing(t, letters(10), letters(10))
	s.each = func(s *story) {
		if s.verdict.Mode != guard.Publish || s.verdict.Placement.Reason != "" {
			t.Fatalf("got %s, %+v at %s", s.mode(), s.verdict.Placement, s.now.Sub(start))
		}
	}
	s.during(10 * time.Second)
	s.rollout("a b")
	s.want(ready(letters(10)))
	s.wantReason("c", inventory.PlacementRejected, "no ready Pod is on node node-c", "on 2 nodes instead of 10", "MAX_REMOVAL_PERCENT=50")
	s.during(7 * time.Second)
	if got := s.states(); !strings.HasPrefix(got, "a=ready b=ready c=down") || strings.Count(got, "ready") != 2 {
		t.Errorf("got %s, want the eight down after FALL failures", got)
	}
	s.during(40 * time.Second)
	s.want("a=ready b=ready")
	s.during(2 * time.Minute)
	s.want("a=ready b=ready")
}

func TestContract235ADeploymentOfOneIsRecreated(t *testing.T) {
	s := beginFollowing(t, eight, "a")
	s.each = func(s *story) {
		if s.verdict.Mode != guard.Publish {
			t.Fatalf("got %s at %s: %s", s.mode(), s.now.Sub(start), s.states())
		}
	}
	s.alive, s.placement = "", placing("a!")
	s.place("a!")
	s.want("a=ready")
	s.during(10 * time.Second) // it ends slowly
	s.want("a=ready")
	s.rollout("")
	s.during(7 * time.Second)
	s.want("a=down")
	s.rollout("b")
	s.during(3 * time.Second)
	s.want("b=ready")
}

func TestContract235RejectedAndIncompletePlacementsTakeNothingAway(t *testing.T) {
	hours := func(s *story) {
		for range 3 {
			s.wait(time.Hour)
			s.during(time.Minute)
		}
	}
	tests := map[string]struct {
		placed string
		found  bool
		told   []string
	}{
		"no Pod named":     {"", true, []string{"has no ready Pod"}},
		"no Service":       {"", false, []string{"does not exist"}},
		"one of ten named": {"a", true, []string{"on 1 node instead of 10", "MAX_REMOVAL_PERCENT=50"}},
		"strangers named":  {"x y z", true, []string{"on 3 nodes", "of the inventory"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := beginFollowing(t, letters(10), letters(10))
			all := ready(letters(10))
			s.each = func(s *story) {
				if got := s.states(); got != all || s.verdict.Mode != guard.Publish {
					t.Fatalf("got %s, %s", s.mode(), got)
				}
			}
			s.place(test.placed)
			s.placement.Found = test.found
			s.during(31 * time.Second)
			s.wantTold(inventory.PlacementRejected, test.told...)
			hours(s)
			s.again()
			s.placement = placing(test.placed) // of another process
			s.during(31 * time.Second)
			hours(s)
			s.each, s.mute["c"] = nil, true
			s.during(8 * time.Second)
			s.want(strings.Replace(all, "c=ready", "c=down", 1))
			s.wantReason("c", inventory.ProbeTimeout, "no ready Pod is on node node-c")
			s.mute["c"] = false
			s.during(8 * time.Second)
			s.want(all)
			s.place(letters(10))
			s.during(time.Second)
			s.want(all)
			s.wantTold("")
		})
	}
}

func TestContract235ARejectedPlacementIsNotTrustedForBeingRepeated(t *testing.T) {
	s := beginFollowing(t, letters(10), letters(10))
	s.place("a")
	s.during(2 * time.Minute)
	s.place("a b")
	s.during(2 * time.Minute)
	s.place("a b c d")
	s.during(2 * time.Minute)
	s.want(ready(letters(10)))
	s.wantTold(inventory.PlacementRejected, "on 4 nodes instead of 10")
	s.place("a b c d e")
	s.during(40 * time.Second)
	s.want(ready(letters(5)))
	t.Run("nor because all that it leaves out fails for a moment", func(t *testing.T) {
		s := beginFollowing(t, letters(10), letters(10))
		s.place("a")
		s.during(2 * time.Minute)
		for _, name := range strings.Fields("b c d e f g h i j") {
			s.mute[name] = true
		}
		s.during(20 * time.Second)
		s.want("a=ready" + strings.ReplaceAll(" b c d e f g h i j", " ", "=down ")[5:] + "=down")
		clear(s.mute)
		s.during(10 * time.Second)
		s.want(ready(letters(10)))
	})
}

func TestContract235AnIncompletePlacementWaitsForTheInventory(t *testing.T) {
	l := following(t, "a b c", "a b c")
	l.place("b c d")
	l.wantReason("a", inventory.UnknownNode, "node-d", "no ready Pod is on node node-a")
	l.want("a=ready b=ready c=ready")
	t.Run("which comes", func(t *testing.T) {
		l := *l
		l.TB = t
		l.wait(time.Minute)
		l.read("a b c d")
		l.want("a=draining b=ready c=ready")
		l.wait(30*time.Second - 1) // it drains since now, not since it has no Pod
		l.want("a=draining b=ready c=ready")
		l.wait(1)
		l.want("b=ready c=ready")
	})
	t.Run("but not for longer than 5 min", func(t *testing.T) {
		l := *l
		l.TB = t
		if got, want := l.verdict.Next, l.now.Add(5*time.Minute); !got.Equal(want) {
			t.Errorf("got next %s, want %s", got, want)
		}
		l.wait(5*time.Minute - 1)
		l.want("a=ready b=ready c=ready")
		l.wantTold("")
		l.wait(1)
		l.want("a=draining b=ready c=ready")
		l.wantTold(inventory.UnknownNode, "node-d", "does not list")
	})
	t.Run("a node that is not eligible is listed", func(t *testing.T) {
		l := following(t, "a b c", "a b c")
		l.placement = placing("b c d")
		read := reading("a b c")
		read.Placement = l.placement
		read.Decisions = []inventory.Decision{{Node: inventory.Identity{Name: "node-d"}, Stage: inventory.StageFilter, Reason: inventory.NotWorker}}
		l.decide(&read)
		l.want("a=draining b=ready c=ready")
	})
}

func TestContract235ADrainGoesOnWhileThePlacementIsRejected(t *testing.T) {
	l := following(t, letters(10), letters(10))
	l.place("b c d e f g h i j")
	l.place("b c")
	l.want("a=draining" + strings.TrimPrefix(ready(letters(10)), "a=ready"))
	l.wait(time.Hour)
	l.want("a=draining" + strings.TrimPrefix(ready(letters(10)), "a=ready"))
	l.wantReason("a", inventory.Draining, "not removed while it passes", "MAX_REMOVAL_PERCENT")
	l.place("a b c")
	l.want(ready(letters(10)))
	l.place("c d! e!")
	l.want("a=ready b=ready c=ready d=draining e=draining" + ready(letters(10))[len(ready(letters(5))):])
	l.wantReason("d", inventory.Draining, "the Pods on node node-d end")
}

func TestContract235ARestartTrustsNoPlacementMoreThanBefore(t *testing.T) {
	l := restarted(t, ready(letters(10)))
	l.placement = placing("a")
	l.read(letters(10))
	l.pass(letters(10))
	l.pass(letters(10))
	l.wait(time.Hour)
	l.want(ready(letters(10)))
	l.wantTold(inventory.PlacementRejected)
	t.Run("in the middle of a rollout it goes on", func(t *testing.T) {
		l := newLab(t)
		l.past = drainsSince(l.now.Add(-20*time.Second), "a b")
		l.restart("a=draining b=draining c=ready d=ready")
		l.policy.MaxRemovalPercent = 34
		l.placement = placing("c d")
		l.read(eight)
		l.pass("a b c d")
		l.pass("c d")
		l.want("a=draining b=draining c=ready d=ready")
		l.wait(10 * time.Second)
		l.want("c=ready d=ready")
	})
}

func TestContract235InventoriesAndPlacementsAreJudgedApart(t *testing.T) {
	l := following(t, letters(10), letters(10))
	l.place(letters(6))
	l.want(ready(letters(6)) + " g=draining h=draining i=draining j=draining")
	t.Run("an accepted inventory takes the unplaced ones, whose drain goes on", func(t *testing.T) {
		l := *l
		l.TB = t
		l.wait(20 * time.Second)
		l.read(letters(6))
		l.want(ready(letters(6)) + " g=draining h=draining i=draining j=draining")
		l.wantMode("Publish")
		l.wait(10 * time.Second)
		l.want(ready(letters(6)))
	})
	t.Run("what has no Pod does not count", func(t *testing.T) {
		l := following(t, "a b c d e f g h i", "a b c")
		l.place("d e f")
		l.pass("d e f d e f")
		l.place("g h i")
		l.pass("g h i g h i")
		l.want("a=draining b=draining c=draining d=draining e=draining f=draining g=ready h=ready i=ready")
		l.read("g h i")
		if got := l.verdict.Memory.RejectedFor(); got != "" {
			t.Errorf("the inventory is rejected for %s", got)
		}
		l.wait(30 * time.Second)
		l.want("g=ready h=ready i=ready")
	})
	t.Run("an address that another node has now is not kept", func(t *testing.T) {
		l := following(t, letters(10), letters(10))
		l.place("b c d e f g h i j")
		read := reading("j")
		read.Ineligible, read.Placement = candidates("a@other"), placing("j")
		l.decide(&read)
		l.wantMode("Hold TooManyRemovals")
		l.wait(30 * time.Second)
		l.want(strings.TrimPrefix(ready(letters(10)), "a=ready "))
	})
	t.Run("where both answers are empty, all are kept in either order", func(t *testing.T) {
		for _, placementFirst := range []bool{true, false} {
			l := following(t, letters(10), letters(10))
			if placementFirst {
				l.place("")
				l.read("")
			} else {
				l.read("")
				l.place("")
			}
			l.wantMode("Hold NoNodes")
			for range 4 {
				l.silence(letters(10))
			}
			l.want(ready(letters(10)))
		}
	})
	t.Run("a rejected one gives them nothing", func(t *testing.T) {
		l := *l
		l.TB = t
		l.read("a b")
		l.wantMode("Hold TooManyRemovals")
		l.want(ready(letters(6)) + " g=draining h=draining i=draining j=draining")
		l.wait(5 * time.Minute) // until then it names nodes that the inventory does not list
		l.want(ready(letters(6)))
	})
	t.Run("both wrong in the same way take nothing away", func(t *testing.T) {
		l := following(t, letters(10), letters(10))
		l.placement = placing("a")
		l.read("a")
		l.wantMode("Hold TooManyRemovals")
		for range 20 {
			l.wait(time.Hour)
			l.read("a")
			l.pass(letters(10))
			l.want(ready(letters(10)))
		}
	})
}

func TestContract235CutOffWhileSomeHaveNoPod(t *testing.T) {
	l := following(t, letters(10), letters(10))
	l.place("a b c d")
	l.silence(letters(10) + " " + letters(10) + " " + letters(10) + " " + letters(10))
	l.want(ready(letters(10)))
	l.wantMode("Hold ProbesSilent")
	l.pass(letters(4))
	l.wait(6 * time.Second)
	l.silence("e f g h i j e f g h i j e f g h i j")
	l.want("a=ready b=ready c=ready d=ready e=down f=down g=down h=down i=down j=down")
	l.wantMode("Publish")
}

func TestContract234ADeadPodOnANodeThatIsNamedGoesDown(t *testing.T) {
	l := following(t, eight, "a b c")
	l.silence("a a a")
	l.want("a=down b=ready c=ready")
	l.place("b c")
	l.want("b=ready c=ready")
}

func TestContract234WithoutHealthChecks(t *testing.T) {
	l := newLab(t)
	l.policy.HealthOff, l.placement = true, placing("a b c")
	l.read(eight)
	l.play([]step{
		{"all that are placed", func(l *lab) {}, "a=ready b=ready c=ready"},
		{"one moves", func(l *lab) { l.place("b c d") }, "a=draining b=ready c=ready d=ready"},
		{"DRAIN_PERIOD later", func(l *lab) { l.wait(30 * time.Second) }, "b=ready c=ready d=ready"},
		{"none is named", func(l *lab) { l.place("") }, "b=ready c=ready d=ready"},
		{"for an hour", func(l *lab) { l.wait(time.Hour); l.wait(time.Hour) }, "b=ready c=ready d=ready"},
		{"one of three", func(l *lab) { l.place("b c d"); l.place("d") }, "b=ready c=ready d=ready"},
		{"for 4 min", func(l *lab) { l.wait(4 * time.Minute) }, "b=ready c=ready d=ready"},
		{"for longer, and a drain period", func(l *lab) { l.wait(time.Minute) }, "b=draining c=draining d=ready"},
	})
}

func TestContract234PolicyOfTheRemoteServiceChanges(t *testing.T) {
	l := running(t, eight)
	l.inventory = eight
	l.place("a b c")
	l.want(ready(eight)) // three of eight: rejected
	l.silence("d e f g h d e f g h d e f g h")
	l.want("a=ready b=ready c=ready d=down e=down f=down g=down h=down")
	l.wait(31 * time.Second)
	l.want("a=ready b=ready c=ready")
	l.placement = nil
	l.read(eight)
	l.pass(eight)
	l.want(ready(eight))
	if l.verdict.Placement != (guard.Placement{}) {
		t.Errorf("got %+v told of a Service that forwards from every node", l.verdict.Placement)
	}
}

func TestContract235WithoutHealthChecksSomethingIsInItsPlace(t *testing.T) {
	l := newLab(t)
	l.policy.HealthOff, l.placement = true, placing("a b c")
	l.read(eight)
	l.place("a! b! c!")
	l.want("a=ready b=ready c=ready")
	l.place("c a! b!")
	l.want("a=draining b=draining c=ready")
	t.Run("that stays", func(t *testing.T) {
		l := newLab(t)
		l.policy.HealthOff, l.placement = true, placing("a b")
		l.read("a b")
		l.place("a")
		l.read("a! b")
		l.wait(time.Minute)
		l.want("b=ready")
	})
}

func TestContract235WhatStrangersAreNamedRejectsNoLaterPlacement(t *testing.T) {
	l := following(t, letters(10), letters(10))
	l.place("k l m n o p q r s t u v w x y z ka la ma na oa pa")
	l.wantReason("a", inventory.PlacementRejected)
	l.place(letters(9))
	l.want(ready(letters(9)) + " j=draining")
}

// A wrong inventory has a placement rejected that names enough; one that names a few after it is
// held against that.
func TestContract235AWrongInventoryHidesNotWhatAPlacementNamed(t *testing.T) {
	l := following(t, eight, eight)
	l.wait(time.Hour)
	l.read("")
	l.wait(l.policy.DrainPeriod + time.Second)
	l.pass(eight)
	l.place("a")
	l.read("a h")
	l.want("a=ready b=ready c=ready d=ready e=ready f=ready g=ready h=ready")
}

func TestContract235TimeAloneIsWaitedFor(t *testing.T) {
	l := following(t, letters(10), letters(10))
	l.policy.DrainPeriod = 5 * time.Second
	rejected := l.now
	next := func(want time.Duration) {
		t.Helper()
		if got := l.verdict.Next.Sub(rejected); got != want {
			t.Errorf("got the next decision after %s, want %s", got, want)
		}
	}
	l.place("a")
	next(5*time.Second + 1)
	l.wait(5*time.Second + 1)
	next(10*time.Second + 2)
	l.refuse("b b b c c c d d d e e e f f f g g g h h h i i i j j j")
	l.wait(4 * time.Second)
	next(10*time.Second + 2)
	l.wait(time.Second + 1)
	l.want("a=ready")
	l.wantTold("")
	l.place("")
	rejected = l.now
	l.refuse("a a a")
	l.wait(10 * time.Second)
	next(30 * time.Second)
	l.wait(20 * time.Second)
	l.wantTold(inventory.PlacementRejected)
}

func TestContract234AFailingNodeWithAReadyPodIsToldWithWhatKubeProxyDoes(t *testing.T) {
	l := following(t, "a b c d", "a b c d")
	l.silence("a a a")
	l.refuse("b b b")
	l.want("a=down b=down c=ready d=ready")
	l.wantReason("a", inventory.ProbeTimeout, "a ready Pod is on the node, so its kube-proxy does not know the Pod yet")
	l.wantReason("b", inventory.ProbeRefused, "a ready Pod is on the node", "(nodePortAddresses)")

	l = following(t, "a b c d", "a b c d")
	l.placement.Local, l.placement.NodePorts = false, nil // the port is a hostPort
	l.refuse("b b b")
	l.want("a=ready b=down c=ready d=ready")
	for _, d := range l.verdict.Decisions {
		if strings.Contains(d.Message, "kube-proxy") {
			t.Errorf("got %q, want nothing of kube-proxy", d.Message)
		}
	}
}
