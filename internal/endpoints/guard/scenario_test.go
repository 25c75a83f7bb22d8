package guard_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

func TestContract13EmptyInventoryForTenMinutesRemovesNothingThatPasses(t *testing.T) {
	restarts(t, func(t *testing.T, middle func(*story)) {
		s := begin(t, "a b c d")
		s.listed = ""
		s.each = func(s *story) {
			if got := s.readies(); !strings.HasPrefix(got, "a b c") {
				s.Fatalf("got %q ready, want a, b and c at least\n%s", got, s.explain())
			}
		}
		s.during(5 * time.Minute)
		s.want("a=ready b=ready c=ready d=ready")
		middle(s)
		s.during(time.Minute)
		s.wantMode("Hold NoNodes")
		s.dead["d"] = true
		s.during(6 * time.Second)
		s.want("a=ready b=ready c=ready d=down")
		s.during(4 * time.Minute)
		s.wantMode("Hold NoNodes")
		if s.verdict.Removal.Endpoints != 1 || !strings.Contains(s.verdict.Message, "1 of the 4 endpoints that they leave out will be removed at ") {
			t.Errorf("got removal %+v and message %q, want both to foretell one", s.verdict.Removal, s.verdict.Message)
		}
		s.during(2 * time.Minute)
		s.want("a=ready b=ready c=ready")
		if !slices.Equal(s.accepted, []string{"d"}) {
			t.Errorf("got accepted %q, want d once", s.accepted)
		}
		s.listed = "a b c"
		s.during(time.Minute)
		s.wantMode("Publish")
	})
}

func TestContract13EmptyInventoryAndACutNetworkLoseNothing(t *testing.T) {
	for _, left := range []string{"", "a", "a b c"} {
		t.Run(fmt.Sprintf("inventory %q", left), func(t *testing.T) {
			restarts(t, func(t *testing.T, middle func(*story)) {
				s := begin(t, "a b c d e f g h")
				s.listed = left
				s.during(2 * time.Minute)
				s.cut = true
				s.during(5 * time.Minute)
				middle(s)
				s.during(5 * time.Minute)
				s.cut = false
				s.during(10 * time.Second)
				s.want(ready("a b c d e f g h"))
				s.listed = "a b c d e f g h"
				s.during(time.Minute)
				s.wantMode("Publish")
				s.want(ready("a b c d e f g h"))
			})
		})
	}
}

func TestContract13ReplacedPoolDrainsAfterTheThreshold(t *testing.T) {
	s := begin(t, "a b c d")
	s.listed = "w x y z"
	s.during(4*time.Minute + 30*time.Second)
	s.want("a=ready b=ready c=ready d=ready w=ready x=ready y=ready z=ready")
	removal := s.verdict.Removal
	if removal.Endpoints != 4 || removal.Inventories != 1 || removal.At.Before(s.now) || removal.At.After(s.now.Add(10*time.Second)) {
		t.Errorf("got removal %+v at %s, want 4 endpoints after the next inventory, within 10 s", removal, s.now)
	}
	s.during(10 * time.Second)
	s.want("a=draining b=draining c=draining d=draining w=ready x=ready y=ready z=ready")
	s.wantMode("Publish")
	s.during(30 * time.Second)
	s.want("w=ready x=ready y=ready z=ready")
	if !slices.Equal(s.accepted, []string{"a", "b", "c", "d"}) {
		t.Errorf("got accepted %q, want each old endpoint once", s.accepted)
	}
}

func TestContract13ReplacedPoolDrainsOnceWithASmallPercentageToo(t *testing.T) {
	s := begin(t, "a b c d")
	s.policy.MaxRemovalPercent, s.policy.DrainPeriod = 30, 3*time.Minute
	s.listed = "w x y z"
	s.during(5 * time.Minute)
	s.each = func(s *story) { s.want("a=draining b=draining c=draining d=draining w=ready x=ready y=ready z=ready") }
	s.during(2 * time.Minute)
	s.each = nil
	s.during(time.Minute)
	s.want("w=ready x=ready y=ready z=ready")
}

func TestContract13ReplacedPoolGoesAfterARestartToo(t *testing.T) {
	s := begin(t, "a b c d")
	s.listed = "w x y z"
	s.during(2 * time.Minute)
	s.again()
	s.each = func(s *story) {
		if got := len(strings.Fields(s.readies())); got < 4 {
			s.Fatalf("got %d ready, want 4 at any time", got)
		}
	}
	s.during(2 * time.Minute)
	s.want("w=ready x=ready y=ready z=ready")
}

func TestContract13ShrinkToAThirdIsKeptAndNoLongerInTheWay(t *testing.T) {
	restarts(t, func(t *testing.T, middle func(*story)) {
		s := begin(t, "a b c d e f")
		s.listed = "e f"
		s.during(3 * time.Minute)
		middle(s)
		s.during(5*time.Minute + 30*time.Second)
		s.want(ready("a b c d e f"))
		s.wantMode("Hold TooManyRemovals")
		if !strings.Contains(s.verdict.Message, "raise MAX_REMOVAL_PERCENT") {
			t.Errorf("got message %q, want the remedy", s.verdict.Message)
		}
		s.listed = "f"
		s.during(2 * time.Second)
		s.during(time.Minute + 10*time.Second)
		s.want(ready("a b c d") + " f=ready")
		s.wantMode("Hold TooManyRemovals")
		s.dead = map[string]bool{"a": true, "b": true, "c": true, "d": true}
		s.during(6 * time.Minute)
		s.want("f=ready")
		s.wantMode("Publish")
	})
}

func TestContract13WrongAddressInPlaceOfTheOnlyNodeLosesNothing(t *testing.T) {
	for _, fault := range []string{"refuses", "is silent"} {
		for _, drain := range []time.Duration{30 * time.Second, 0} {
			t.Run(fmt.Sprintf("%s, drain %s", fault, drain), func(t *testing.T) {
				restarts(t, func(t *testing.T, middle func(*story)) {
					s := begin(t, "a")
					s.policy.DrainPeriod = drain
					s.listed = "z"
					s.dead["z"], s.mute["z"] = fault == "refuses", fault == "is silent"
					s.each = func(s *story) {
						if got := s.readies(); !strings.HasPrefix(got, "a") {
							s.Fatalf("got %q ready, want a at least\n%s", got, s.explain())
						}
					}
					s.during(5 * time.Minute)
					s.wantMode("Hold NothingPasses")
					s.wantReason("a", inventory.ReadyDraining)
					middle(s)
					s.during(5 * time.Minute)
					s.cut = true
					s.during(5 * time.Minute)
					s.cut = false
					s.during(5 * time.Minute)
					s.listed, s.each = "a", nil
					s.during(time.Minute)
					s.want("a=ready")
					s.wantMode("Publish")
				})
			})
		}
	}
}

func TestContract13LossOfMostChecksAndATruncatedInventoryTakeNothingAway(t *testing.T) {
	for seed := range uint64(10) {
		s := begin(t, "a b c d e f g h i j")
		s.random, s.loss = rand.New(rand.NewPCG(seed, 60)), 0.6
		s.listed = letters([]int{3, 4, 10}[seed%3])
		ready, moments := 0, 0
		s.each = func(s *story) {
			ready, moments = ready+len(strings.Fields(s.readies())), moments+1
		}
		// Three failures of one endpoint may come before the first checks of the
		// others: until then loss and death look the same.
		fallIntervals := 6 * time.Second
		lossless := func() {
			s.during(fallIntervals)
			before := s.each
			s.each = func(s *story) {
				before(s)
				if got := len(strings.Fields(s.readies())); got < 10 {
					t.Errorf("seed %d: got %d endpoints ready, want all ten: %s", seed, got, s.states())
				}
			}
			s.during(5*time.Minute - fallIntervals)
			s.each = before
		}
		lossless()
		if seed >= 5 {
			s.again()
		}
		lossless()
		if got := len(s.verdict.Members); got != 10 {
			t.Errorf("seed %d: got %d endpoints, want all ten: %s", seed, got, s.states())
		}
		if share := float64(ready) / float64(moments) / 10; share < 0.998 {
			t.Errorf("seed %d: got %.4f of the endpoints ready, want 0.998 at least", seed, share)
		}
	}
}

func TestContract14EndpointsThatFallSilentOneAfterTheOther(t *testing.T) {
	one := func(t *testing.T, apart time.Duration, middle func(*story)) *story {
		s := begin(t, "a b c d e f g h i j")
		for i, name := range strings.Fields("a b c d e f g h i") {
			if i == 4 {
				middle(s)
				s.during(10 * time.Second)
			}
			s.mute[name] = true
			s.during(10 * time.Second)
			s.now = s.now.Add(apart)
			s.during(2 * time.Second)
		}
		return s
	}
	t.Run("every ten seconds, they are held at five", func(t *testing.T) {
		restarts(t, func(t *testing.T, middle func(*story)) {
			s := one(t, 0, middle)
			const held = "a=down b=down c=down d=down e=down f=ready g=ready h=ready i=ready j=ready"
			s.want(held)
			s.wantMode("Hold ProbesSilent")
			s.during(10 * time.Minute)
			s.want(held)
		})
	})
	t.Run("every hour, all dead ones go down", func(t *testing.T) {
		restarts(t, func(t *testing.T, middle func(*story)) {
			s := one(t, time.Hour, middle)
			s.want("a=down b=down c=down d=down e=down f=down g=down h=down i=down j=ready")
			s.wantMode("Publish")
		})
	})
}

func TestContract15NewcomersThatNeverAnswerKeepNothingFromBeingReady(t *testing.T) {
	restarts(t, func(t *testing.T, middle func(*story)) {
		s := begin(t, "a b c")
		s.during(30 * time.Second)
		s.each = func(s *story) {
			if s.readies() == "" {
				s.Fatalf("nothing is ready\n%s", s.explain())
			}
		}
		maps.Copy(s.dead, map[string]bool{"a": true, "b": true, "c": true})
		for i, name := range strings.Fields("d e f g h i j k l m n o p q r s t u v w x y z") {
			s.mute[name] = true
			s.listed += " " + name
			s.signal(s.listed)
			s.look()
			if i == 12 {
				middle(s)
			}
			s.during(2 * time.Second)
		}
		s.wantMode("FailOpen NothingPasses")
	})
}
