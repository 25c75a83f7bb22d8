package writer_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

func TestContract26LossesGoFirstThenGainsThenTheRest(t *testing.T) {
	const known = "z=ready" // somewhere else something is ready
	for name, c := range map[string]struct{ before, after []string }{
		"a ready endpoint that is down is a loss": {
			[]string{"s1: a=ready b=ready", "s2: c=ready d=ready"},
			[]string{"s1: a=draining b=ready", "s2: c=down d=ready"},
		},
		"a draining endpoint that is down is a loss": {
			[]string{"s1: a=down", "s2: c=draining"},
			[]string{"s1: a=ready", "s2: c=down"},
		},
		"an endpoint that is gone is a loss": {
			[]string{"s1: a=down", "s2: c=ready d=ready"},
			[]string{"s1: a=ready", "s2: d=ready"},
		},
		"an endpoint that drains no longer and is gone is a loss": {
			[]string{"s1: a=down", "s2: c=draining d=ready"},
			[]string{"s1: a=ready", "s2: d=ready"},
		},
		"a loss that comes with a gain is a loss": {
			[]string{"s1: a=down", "s2: c=ready d=down"},
			[]string{"s1: a=ready", "s2: c=down d=ready"},
		},
		"an endpoint that becomes ready is a gain": {
			[]string{"s1: a=ready", "s2: c=down"},
			[]string{"s1: a=draining", "s2: c=ready"},
		},
		"a new endpoint that is ready is a gain": {
			[]string{"s1: a=ready", "s2: c=ready"},
			[]string{"s1: a=draining", "s2: c=ready d=ready"},
		},
		"a new endpoint that is down is no gain": {
			[]string{"s1: a=ready", "s2: c=down"},
			[]string{"s1: a=ready b=down", "s2: c=ready"},
		},
		"an endpoint that was down and is gone is no loss": {
			[]string{"s1: a=ready b=down", "s2: c=down"},
			[]string{"s1: a=ready", "s2: c=ready"},
		},
		"an endpoint that was down and drains is no loss": {
			[]string{"s1: a=ready b=down", "s2: c=down"},
			[]string{"s1: a=ready b=draining", "s2: c=ready"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, append(c.before, "s3: "+known)...)
			s.want(c.after...)
			s.wantTaken("s2", "s1")
		})
	}
}

// TestContract26ALossThatComesWithAMoveGoesFirstAndSoDoesWhatItWaitsFor: when
// endpoints die, the others are put into fewer slices.
func TestContract26ALossThatComesWithAMoveGoesFirstAndSoDoesWhatItWaitsFor(t *testing.T) {
	s := newScene(t, 1, "s1: a=down", "s2: b=down", "s3: c=ready d=draining", "s4: e=ready")
	s.want("s1: a=ready", "s2: b=ready", "s3:", "s4: d=draining e=ready") // c died, d moves
	s.wantTaken("s4")
	s.land("s4")
	s.wantTaken("s3")
}

func TestContract26WhatOnlyMovesIsNoLoss(t *testing.T) {
	s := newScene(t, 1, "s1: a=ready b=ready", "s2: c=ready", "s3: d=ready e=ready")
	s.want("s1: a=ready", "s2: b=ready c=ready", "s3: d=ready e=down")
	s.wantTaken("s3")
}

func TestContract26AMovedAddressIsTakenAwayOnlyAfterItLandedElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(s *scene)
		want    []string
	}{
		"in flight":              {func(*scene) {}, nil},
		"landed":                 {func(s *scene) { s.land("s2") }, []string{"s1"}},
		"failed and not read":    {func(s *scene) { s.fail(errDenied, "s2") }, nil},
		"failed, read, to retry": {func(s *scene) { s.fail(errDenied, "s2"); s.load() }, nil},
		"decided anew meanwhile": {func(s *scene) { s.pass(time.Second); s.want("s3: x=draining") }, []string{"s3"}},
		"failed, and landed": {
			func(s *scene) { s.fail(errDenied, "s2"); s.load(s.read("s2: b=ready c=ready")...) }, []string{"s1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, "s1: a=ready b=ready", "s2: c=ready", "s3: x=ready")
			s.want("s1: a=ready", "s2: b=ready c=ready")
			s.wantTaken("s2")
			c.happens(s)
			s.wantTaken(c.want...)
		})
	}
}

// TestContract26ACopyIsTakenAwayOnlyWhenTheOtherIsKnownToBeThere: another process
// may have taken that one out.
func TestContract26ACopyIsTakenAwayOnlyWhenTheOtherIsKnownToBeThere(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(s *scene)
		want    []string
	}{
		"in flight":             {func(*scene) {}, nil},
		"landed":                {func(s *scene) { s.land("s1") }, []string{"s2"}},
		"a conflict, not read":  {func(s *scene) { s.fail(publish.ErrConflict, "s1") }, nil},
		"a conflict, and there": {func(s *scene) { s.fail(publish.ErrConflict, "s1"); s.load() }, []string{"s1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, "s1: a=ready x=ready", "s2: a=ready b=ready")
			s.want("s1: a=ready x=down")
			s.wantTaken("s1")
			s.want("s2: b=ready")
			s.wantTaken()
			c.happens(s)
			s.wantTaken(c.want...)
		})
	}
}

// TestContract26WhatIsPublishedNoMoreIsTakenAwayEverywhereAtOnce although a write of
// unknown outcome may have published it.
func TestContract26WhatIsPublishedNoMoreIsTakenAwayEverywhereAtOnce(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready b=ready", "s2: c=ready", "s3: x=ready")
	s.want("s1: a=ready", "s2: b=ready c=ready")
	s.wantTaken("s2")
	s.want("s2: c=ready")
	s.wantTaken("s1")
}

func TestContract26NothingReadyWaitsForWhatMakesSomethingReady(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []string
		// first may be sent at once, then when that landed.
		first, then []string
	}{
		"the last ready one dies, another comes up": {
			[]string{"s1: a=ready", "s2: b=down"}, []string{"s1: a=down", "s2: b=ready"},
			[]string{"s2"}, []string{"s1"},
		},
		"both in one slice": {
			[]string{"s1: a=ready b=down", "s2: c=down"}, []string{"s1: a=down b=ready", "s2: c=ready"},
			[]string{"s1", "s2"}, nil,
		},
		"something else is ready": {
			[]string{"s1: a=ready", "s2: b=down", "s3: c=ready"}, []string{"s1: a=down", "s2: b=ready"},
			[]string{"s1", "s2"}, nil,
		},
		"of two that die one has to wait": {
			[]string{"s1: a=ready", "s2: b=ready", "s3: c=down"}, []string{"s1: a=down", "s2: b=down", "s3: c=ready"},
			[]string{"s1", "s3"}, []string{"s2"},
		},
		"nothing would make anything ready": {
			[]string{"s1: a=ready", "s2: b=down"}, []string{"s1: a=down", "s2: b=down c=down"},
			[]string{"s1", "s2"}, nil,
		},
		"what is ready in the other family does not help": {
			[]string{"s1: a=ready", "s2: b=down", "t1: A=ready"}, []string{"s1: a=down", "s2: b=ready"},
			[]string{"s2"}, []string{"s1"},
		},
		"what becomes ready in the other family does not help": {
			[]string{"s1: a=ready", "t1: A=down"}, []string{"s1: a=down", "t1: A=ready"},
			[]string{"s1", "t1"}, nil,
		},
		"nothing is ready as it is": {
			[]string{"s1: a=draining", "s2: b=down"}, []string{"s1: a=down", "s2: b=ready"},
			[]string{"s1", "s2"}, nil,
		},
		"a new slice makes something ready": {
			[]string{"s1: a=ready"}, []string{"s1: a=down", "s2: b=ready"},
			[]string{"s2"}, []string{"s1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, c.before...)
			s.want(c.after...)
			s.wantTaken(c.first...)
			if len(c.then) > 0 {
				s.land(c.first[len(c.first)-1])
				s.wantTaken(c.then...)
			}
		})
	}
}

// TestContract26OneThatBecameReadyIsEnough although another is still under way.
func TestContract26OneThatBecameReadyIsEnough(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready", "s2: b=down", "s3: c=down")
	s.want("s1: a=down", "s2: b=ready", "s3: c=ready")
	s.wantTaken("s2", "s3")
	s.land("s2")
	s.wantTaken("s1")
}

// TestContract26WhatIsInFlightIsNotReliedUpon: it may fail.
func TestContract26WhatIsInFlightIsNotReliedUpon(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready", "s2: b=down")
	s.want("s1: a=ready", "s2: b=ready")
	s.wantTaken("s2")
	s.want("s1: a=down")
	s.wantTaken()
	s.fail(errDenied, "s2")
	s.wantTaken()
	s.load()
	s.wantTaken()
	s.pass(time.Second)
	s.wantTaken("s2")
	s.land("s2")
	s.wantTaken("s1")
}

// TestContract26WhatIsInFlightIsMadeGoodFirst: a goes while a write is in flight that
// takes b, and c passes since.
func TestContract26WhatIsInFlightIsMadeGoodFirst(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready", "s2: b=ready c=down")
	s.want("s2: b=down c=down")
	s.wantTaken("s2")
	s.want("s1: a=draining", "s2: b=down c=ready")
	s.wantTaken()
	s.land("s2")
	s.wantTaken("s2")
	s.land("s2")
	s.wantTaken("s1")
}

// TestContract26NoTwoWritesWaitForEachOther: the one takes away what the other
// makes ready, and the other waits for an address of the one.
func TestContract26NoTwoWritesWaitForEachOther(t *testing.T) {
	for name, c := range map[string]struct{ before, after, want []string }{
		"a loss takes an address over": {
			[]string{"s1: a=ready", "s2: c=down d=down x=down"}, []string{"s1: a=down x=down", "s2: c=ready d=down"},
			[]string{"s1", "s2"},
		},
		"two slices publish two addresses twice": {
			[]string{"s1: a=down b=down", "s2: a=draining b=down", "s3: z=ready"}, []string{"s1: b=ready", "s2: a=ready"},
			[]string{"s1", "s2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, c.before...)
			s.want(c.after...)
			var got []string
			for range c.want {
				for _, name := range s.take() {
					got = append(got, name)
					s.land(name)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("sent %v, want %v in the end", got, c.want)
			}
		})
	}
}
