package writer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// refusedScene is one in which the server has just refused to replace a by b.
func refusedScene(t *testing.T) *scene {
	t.Helper()
	s := newScene(t, 0, "s1: a=ready c=ready d=ready")
	s.want("s1: b=ready c=ready d=ready")
	s.wantTaken("s1")
	s.fail(errForbidden, "s1")
	s.wantTaken() // s1 was not read
	s.load()
	return s
}

// wantSent takes the write of s1 and compares what it leaves.
func (s *scene) wantSent(want string) {
	s.t.Helper()
	s.wantTaken("s1")
	if got := s.flying["s1"].Write.Slice; !got.Same(sliceOf(s.t, want)) {
		s.t.Fatalf("sent %+v, want %s", got, want)
	}
}

func TestContract222WhatIsRefusedLosesAtOnceWhatItTakesAway(t *testing.T) {
	s := refusedScene(t)
	s.wantSent("s1: c=ready d=ready")
	if got := s.box.Pending(); got != 1 {
		t.Errorf("got %d pending, want 1", got)
	}
	s.land("s1")
	if err := s.box.Err(); !errors.Is(err, errDenied) || s.box.Pending() != 1 {
		t.Errorf("got %v and %d pending, want the refusal", err, s.box.Pending())
	}
	s.wantTaken()
	s.plan()
	s.wantTaken()
	s.wantWake(time.Second / 2)

	s.want("s1: b=ready c=down d=ready") // and later ones during the back-off
	s.wantSent("s1: c=down d=ready")
	s.land("s1")
	s.pass(time.Second / 2)
	s.wantTaken()
	s.pass(1)
	s.wantSent("s1: b=ready c=down d=ready")
	s.land("s1")
	if err := s.box.Err(); err != nil || s.box.Pending() != 0 {
		t.Errorf("got %v and %d pending, want that it is over", err, s.box.Pending())
	}
	s.wantTaken()
}

func TestContract222LossesThatFailWaitForTheNextRefusal(t *testing.T) {
	for name, err := range map[string]error{
		"refused": errForbidden, "failed": errDenied, "conflict": publish.ErrConflict, "stored otherwise": publish.ErrStoredOtherwise,
	} {
		t.Run(name, func(t *testing.T) {
			s := refusedScene(t)
			s.wantSent("s1: c=ready d=ready")
			s.fail(err, "s1")
			s.load()
			s.wantTaken()
			s.wantWake(time.Second) // half of the second back-off
			s.pass(time.Second + 1)
			s.wantSent("s1: b=ready c=ready d=ready")
			s.fail(errForbidden, "s1")
			s.load()
			s.wantSent("s1: c=ready d=ready")
		})
	}
}

func TestContract222LossesWhoseAnswerIsLostEndNoRefusal(t *testing.T) {
	s := refusedScene(t)
	s.wantSent("s1: c=ready d=ready")
	s.fail(errAway, "s1")
	s.pass(time.Minute)
	if results := s.load(s.read("s1: c=ready d=ready")...); len(results) != 1 || results[0].Err != nil {
		t.Errorf("got %+v, want that the losses landed", results)
	}
	if s.box.Err() == nil || s.box.Pending() != 1 {
		t.Errorf("got %v and %d pending, want that the slice cannot be written", s.box.Err(), s.box.Pending())
	}
	s.wantSent("s1: b=ready c=ready d=ready")
}

// TestContract222ARefusalIsOverWhenTheLossesAreAllThatIsDecided: while they are in flight.
func TestContract222ARefusalIsOverWhenTheLossesAreAllThatIsDecided(t *testing.T) {
	s := refusedScene(t)
	s.wantSent("s1: c=ready d=ready")
	s.want("s1: c=ready d=ready")
	s.land("s1")
	if err := s.box.Err(); err != nil || s.box.Pending() != 0 {
		t.Errorf("got %v and %d pending, want that it is over", err, s.box.Pending())
	}
}

func TestContract222NothingIsSentWhereNothingIsLostOrAllIs(t *testing.T) {
	for name, want := range map[string]string{"only added": "s1: a=ready b=ready", "only removed": "s1:"} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, "s1: a=ready", "s2: c=ready")
			s.want(want)
			s.wantTaken("s1")
			s.fail(errForbidden, "s1")
			s.load()
			s.wantTaken()
		})
	}
}

// TestContract222WhatMovesStaysUntilItIsThere: b moves from s1 to s2, which the server
// refuses; a is dead.
func TestContract222WhatMovesStaysUntilItIsThere(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready b=ready", "s2: c=ready d=ready")
	s.want("s1:", "s2: b=ready c=ready")
	s.wantTaken("s2")
	s.fail(errForbidden, "s2")
	s.load()
	s.wantTaken("s1", "s2")
	for name, want := range map[string]string{"s1": "s1: b=ready", "s2": "s2: c=ready"} {
		if got := s.flying[name].Write.Slice; !got.Same(sliceOf(t, want)) {
			t.Errorf("sent %+v, want %s", got, want)
		}
	}
	s.land("s1", "s2")
	s.wantTaken()
	s.pass(time.Second)
	s.plan()
	s.wantTaken("s2")
	s.land("s2")
	s.wantTaken("s1")
}

// TestContract26WhatDiesWaitsForNoSliceThatFails: b moves from s1 to s2, which cannot be written; a
// and then e die.
func TestContract26WhatDiesWaitsForNoSliceThatFails(t *testing.T) {
	for name, err := range map[string]error{"failed": errDenied, "silence": context.DeadlineExceeded, "stored otherwise": publish.ErrStoredOtherwise} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, "s1: a=ready b=ready e=ready", "s2: c=ready d=ready")
			s.want("s1: e=ready", "s2: b=ready c=ready d=ready")
			s.wantTaken("s2")
			s.fail(err, "s2")
			s.load()
			s.wantSent("s1: b=ready e=ready")
			s.land("s1")
			s.wantTaken()
			s.pass(time.Minute)
			s.plan()
			s.wantTaken("s2") // and it hangs
			s.want("s1: e=down")
			s.wantSent("s1: b=ready e=down")
			s.land("s1", "s2")
			s.wantSent("s1: e=down")
			s.land("s1")
			s.wantTaken()
			if err := s.box.Err(); err != nil || s.box.Pending() != 0 {
				t.Errorf("got %v and %d pending, want that it is over", err, s.box.Pending())
			}
		})
	}
}

// TestContract222ACopyIsNoLoss: s1 publishes a too, and stays.
func TestContract222ACopyIsNoLoss(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready", "s2: a=ready b=ready")
	s.want("s2: b=ready c=ready")
	s.wantTaken("s2")
	s.fail(errForbidden, "s2")
	s.load()
	s.wantTaken()
}

// TestContract222ARefusalIsForgottenWhenTheSliceIsAsItShouldBe: what is decided later is
// written as after no refusal, in the order of a move.
func TestContract222ARefusalIsForgottenWhenTheSliceIsAsItShouldBe(t *testing.T) {
	known := []string{"s1: a=ready b=ready", "s2: c=ready d=ready"}
	s := newScene(t, 0, known...)
	s.want("s1:", "s2: b=ready c=ready")
	s.wantTaken("s2")
	s.fail(errForbidden, "s2")
	s.load()
	s.want(known...)
	s.pass(time.Minute)
	s.load()
	s.wantTaken()
	s.want("s1:", "s2: b=ready c=ready")
	s.wantTaken("s2")
	s.land("s2")
	s.wantTaken("s1")
}
