package writer_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// flip decides the other of two contents for a slice: it always differs.
func (s *scene) flip(i int) {
	s.t.Helper()
	s.want([]string{"s1: a=ready b=down", "s1: a=ready b=ready"}[i%2])
}

func TestContract26FiveWritesOfASliceGoOutAtOnceAndThenOneASecond(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready b=ready", "s2: c=ready")
	for i := range 5 {
		s.flip(i)
		s.wantTaken("s1")
		s.land("s1")
	}
	for i := range 4 {
		s.flip(1 + i)
		s.wantTaken()
		s.wantWake(time.Second)
		s.want("s2: c=draining")
		if i == 0 {
			s.wantTaken("s2") // another slice has its own bucket
			s.land("s2")
		}
		s.pass(time.Second - 1)
		s.wantTaken()
		s.pass(1)
		s.plan()
		s.wantTaken("s1")
		s.land("s1")
	}
	s.pass(3 * time.Second)
	for i := range 3 {
		s.flip(1 + i)
		s.wantTaken("s1")
		s.land("s1")
	}
	s.flip(0)
	s.wantTaken()
	s.pass(time.Hour)
	for i := range 5 { // it never holds more
		s.flip(i)
		s.wantTaken("s1")
		s.land("s1")
	}
	s.flip(1)
	s.wantTaken()
}

func TestContract26WritesThatFailTakeFromTheBucketToo(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready")
	s.random = 0
	s.want("s1: a=down")
	for range 5 {
		s.wantTaken("s1")
		s.fail(errDenied, "s1")
		s.load()
		s.pass(1)
	}
	s.wantTaken()
	s.wantWake(time.Second - 5)
}

// edit changes a slice as another client would, to what was decided, and reads it.
func (s *scene) edit() {
	s.t.Helper()
	s.load(s.read("s1: a=down")...)
}

func TestContract23ARepairGoesOutAtOnceAndThenEverMoreRarely(t *testing.T) {
	s := newScene(t, 0, "s1: a=down")
	s.want("s1: a=ready")
	s.wantTaken("s1")
	s.land("s1")
	s.edit()
	s.wantTaken("s1")
	s.land("s1")
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		want := time.Duration(seconds) * time.Second
		s.edit()
		s.wantTaken()
		s.wantWake(want)
		s.pass(want - 1)
		s.wantTaken()
		s.pass(1)
		s.wantTaken("s1")
		s.land("s1")
	}
}

func TestContract23WhatIsDecidedAnewDoesNotWaitForARepair(t *testing.T) {
	s := newScene(t, 0, "s1: a=down")
	s.want("s1: a=ready")
	s.wantTaken("s1")
	s.land("s1")
	for range 3 {
		s.edit()
		s.pass(5 * time.Second)
		s.wantTaken("s1")
		s.land("s1")
	}
	s.edit()
	s.wantTaken()
	s.want("s1: a=draining")
	s.wantTaken("s1")
	s.land("s1")
	s.edit()
	s.wantTaken("s1") // and the war begins again
}

func TestContract23AnEditWarIsForgottenAfterTenMinutesOfQuiet(t *testing.T) {
	for _, c := range []struct {
		quiet time.Duration
		want  []string
	}{{10*time.Minute - 1, nil}, {10 * time.Minute, []string{"s1"}}} {
		s := newScene(t, 0, "s1: a=down")
		s.want("s1: a=ready")
		s.wantTaken("s1")
		s.land("s1")
		for range 12 {
			s.edit()
			s.pass(5 * time.Minute)
			s.wantTaken("s1")
			s.land("s1")
		}
		s.pass(c.quiet)
		s.edit()
		if c.want == nil {
			s.wantTaken("s1") // five minutes are over in any case
			s.land("s1")
			s.edit()
			s.wantTaken()
			s.wantWake(5 * time.Minute)
			continue
		}
		s.wantTaken("s1")
		s.land("s1")
		s.edit()
		s.wantTaken("s1") // the first repair of a new war
	}
}

func TestContract23ARepairThatFailsIsNoRepair(t *testing.T) {
	s := newScene(t, 0, "s1: a=down")
	s.want("s1: a=ready")
	s.wantTaken("s1")
	s.land("s1")
	s.edit()
	s.wantTaken("s1")
	s.fail(errDenied, "s1")
	s.edit()
	s.wantWake(500 * time.Millisecond)
	s.pass(500*time.Millisecond + 1)
	s.wantTaken("s1")
}

// TestContract21ALostAnswerIsNoEditWar: the slice was read as we wanted it, and the
// next change is our own decision.
func TestContract21ALostAnswerIsNoEditWar(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready b=ready")
	for i := range 20 {
		s.flip(i)
		s.wantTaken("s1")
		s.fail(errDenied, "s1")
		s.load(s.read([]string{"s1: a=ready b=down", "s1: a=ready b=ready"}[i%2])...)
		s.wantTaken()
		if err := s.box.Err(); err != nil || s.box.Pending() != 0 {
			t.Fatalf("got error %v and %d pending after a write landed whose answer was lost", err, s.box.Pending())
		}
		s.pass(time.Second)
	}
}

func TestContract26ADiffOlderThanASecondIsMadeAnewBeforeMoreOfItIsSent(t *testing.T) {
	s := newScene(t, 1, "s1: a=ready", "s2: b=ready")
	s.want("s1: a=draining", "s2: b=draining")
	s.wantTaken("s1")
	s.pass(2 * time.Second)
	if s.box.Stale(s.now) {
		t.Error("a diff of which nothing can be sent was called stale")
	}
	s.land("s1")
	if !s.box.Stale(s.now) {
		t.Error("a diff of 2 s ago was not called stale")
	}
	s.plan()
	if s.box.Stale(s.now) {
		t.Error("a new diff was called stale")
	}
	s.pass(writer.Fresh)
	if s.box.Stale(s.now) {
		t.Error("a diff of a second ago was called stale")
	}
	s.pass(1)
	if !s.box.Stale(s.now) {
		t.Error("a diff older than a second was not called stale")
	}
	s.wantTaken("s2")
	if s.box.Stale(s.now) {
		t.Error("a diff that is sent whole was called stale")
	}
}

func TestContract26NoMoreRequestsAreInFlightThanThereAreLanes(t *testing.T) {
	var known, desired []string
	for _, letter := range "abcdefghijklmnopqrst" {
		known = append(known, "s"+string(letter)+": "+string(letter)+"=down")
		desired = append(desired, "s"+string(letter)+": "+string(letter)+"=ready")
	}
	for _, c := range []struct{ lanes, want int }{{1, 1}, {3, 3}, {0, writer.Lanes}} {
		s := newScene(t, c.lanes, known...)
		s.want(desired...)
		taken := s.take()
		if len(taken) != c.want {
			t.Errorf("%d lanes: got %d requests, want %d", c.lanes, len(taken), c.want)
		}
		s.wantWake(0)
		s.land(taken[0])
		if again := s.take(); len(again) != 1 {
			t.Errorf("%d lanes: got %v for a lane that is free again, want one", c.lanes, again)
		}
	}
}

func TestContract20AWriteCarriesTheTimeAtWhichItIsSent(t *testing.T) {
	s := three(t, 1)
	s.pass(time.Second)
	s.wantTaken("s1")
	if got := s.flying["s1"].Write.Trigger; !got.Equal(s.now) {
		t.Errorf("got %s, want %s", got, s.now)
	}
}

func TestPendingCountsSlicesThatAreNotKnownToBeRight(t *testing.T) {
	s := three(t, 2)
	pending := func(want int, when string) {
		t.Helper()
		if got := s.box.Pending(); got != want {
			t.Errorf("%s: got %d, want %d", when, got, want)
		}
	}
	pending(3, "all wait")
	s.wantTaken("s1", "s2")
	pending(3, "two in flight")
	if !s.box.Underway() || s.box.Unread() {
		t.Error("want requests under way and nothing to read")
	}
	s.want("s1: a=down")
	pending(3, "one of them decided anew")
	s.land("s1")
	pending(3, "one landed, and waits again")
	s.fail(errDenied, "s2")
	pending(3, "one unknown")
	if !s.box.Unread() || s.box.Underway() {
		t.Error("want a slice to read, and no request under way")
	}
	s.wantTaken("s1", "s3")
	s.land("s1", "s3")
	pending(1, "one unknown, the others written")
	s.load()
	pending(1, "one to be written again")
	s.want("s2: b=ready")
	pending(0, "nothing to write")
}

func TestWithoutAVersionASliceIsWrittenAgainOnlyAfterARead(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready")
	s.want("s1: a=draining")
	s.wantTaken("s1")
	s.box.Report(s.end("s1", nil), s.now)
	s.want("s1: a=down")
	s.wantTaken()
	if !s.box.Unread() {
		t.Error("want the slice to be read")
	}
	if got := s.load(s.read("s1: a=draining")...); len(got) != 0 {
		t.Errorf("got %+v told twice", got)
	}
	s.wantTaken("s1")
	if got := s.flying["s1"].Write; got.Operation != publish.Update || got.Slice.Version != "2" {
		t.Errorf("got %s from version %s, want an update from 2", got.Operation, got.Slice.Version)
	}
}
