package writer_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// three is a scene of three slices that each have something to write.
func three(t *testing.T, lanes int) *scene {
	t.Helper()
	s := newScene(t, lanes, "s1: a=ready", "s2: b=ready", "s3: c=ready")
	s.want("s1: a=draining", "s2: b=draining", "s3: c=draining")
	return s
}

func TestContract26AWriteInFlightDelaysItsSliceOnly(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready", "s2: b=ready")
	s.want("s1: a=draining")
	s.wantTaken("s1")
	s.want("s1: a=down", "s2: b=draining")
	s.wantTaken("s2")
	s.land("s1")
	s.wantTaken("s1")
	if got := s.flying["s1"].Write.Slice; got.Version != "3" || got.Endpoints[0].State.String() != "down" {
		t.Errorf("got %+v, want the newest decision, written from the version of the slice after the first write", got)
	}
}

func TestContract26ANewSliceIsUpdatedFromTheVersionThatItWasMadeAt(t *testing.T) {
	s := newScene(t, 0)
	s.want("s1: a=ready")
	s.wantTaken("s1")
	s.want("s1: a=ready b=ready")
	s.wantTaken()
	s.land("s1")
	s.wantTaken("s1")
	if w := s.flying["s1"].Write; w.Operation != publish.Update || w.Slice.Version != "1" {
		t.Errorf("got %s from version %q, want an update from 1", w.Operation, w.Slice.Version)
	}
}

func TestContract26AFailedWriteDelaysItsSliceOnlyUntilItWasReadAndTheBackOffIsOver(t *testing.T) {
	s := three(t, 1)
	s.wantTaken("s1")
	s.fail(errDenied, "s1")
	s.wantTaken("s2")
	s.land("s2")
	s.pass(10 * time.Second)
	s.plan()
	s.wantTaken("s3")
	s.land("s3")
	s.wantTaken() // s1 was not read
	s.load()
	s.wantTaken("s1")
	s.fail(errDenied, "s1")
	s.load()
	s.wantTaken()
	s.wantWake(time.Second) // half of up to 2 s
	s.pass(time.Second - 1)
	s.wantTaken()
	s.pass(2)
	s.wantTaken("s1")
}

// TestContract26TheMostUrgentWriteIsSent: what is tried again comes after what is as urgent, and
// not at all while as many retries as may be are under way.
func TestContract26TheMostUrgentWriteIsSent(t *testing.T) {
	for _, c := range []struct {
		fresh string // what a slice that did not fail is to say
		turns []writer.Turn
		sent  []string
		// retrying is how many others are tried again.
		retrying int
	}{
		{"s2: b=draining", []writer.Turn{{writer.Loss, true}, {writer.Rest, false}}, []string{"s1", "s2"}, 0},
		{"s2: b=ready d=ready", []writer.Turn{{writer.Loss, true}, {writer.Gain, false}}, []string{"s1", "s2"}, 0},
		{"s2: b=down", []writer.Turn{{writer.Loss, false}, {writer.Loss, true}}, []string{"s2", "s1"}, 0},
		{"s2: b=draining", []writer.Turn{{writer.Rest, false}}, []string{"s2"}, 2},
	} {
		s := newScene(t, 0, "s1: a=ready", "s2: b=ready", "s3: c=ready")
		s.want("s1: a=down")
		s.wantTaken("s1")
		s.fail(errDenied, "s1")
		s.load()
		s.pass(10 * time.Second)
		s.want(c.fresh)
		s.server.Retrying, s.server.Underway = c.retrying, writer.Lanes-1
		for i, want := range c.turns {
			if got, found := s.box.Next(s.now, s.server.TakesRetries()); !found || got != want {
				t.Errorf("%s: got the turn %+v, %t, want %+v", c.fresh, got, found, want)
			}
			s.wantTaken(c.sent[i])
			s.land(c.sent[i])
		}
	}
}

func TestContract26TheWaitAfterFailuresInARowDoublesUpTo15Seconds(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready")
	s.random = 0.999999
	s.want("s1: a=down")
	var got []time.Duration
	for range 6 {
		s.wantTaken("s1")
		s.fail(errDenied, "s1")
		s.load()
		wake := wake(s.box, s.server, s.now).Sub(s.now)
		got = append(got, wake.Round(10*time.Millisecond))
		s.pass(wake)
	}
	want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second, 15 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	s.wantTaken("s1")
	s.land("s1")
	s.want("s1: a=ready")
	s.wantTaken("s1")
	s.fail(errDenied, "s1")
	s.load()
	s.wantWake(time.Duration(s.random * float64(time.Second))) // a success ends the count
}

func TestContract26AFailureThatIsOverIsForgotten(t *testing.T) {
	for name, wait := range map[string]time.Duration{
		"the back-off is over":    time.Minute,
		"the back-off still runs": 0,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, "s1: a=ready")
			s.random = 0.999999
			for range 5 {
				s.want("s1: a=down")
				s.wantTaken("s1")
				s.fail(errDenied, "s1")
				s.load()
				s.pass(15 * time.Second)
			}
			s.want("s1: a=down")
			s.wantTaken("s1")
			s.fail(errDenied, "s1")
			s.load()
			s.pass(wait)
			s.want("s1: a=ready") // not needed any more
			if err := s.box.Err(); err != nil {
				t.Errorf("got %v of a slice that is as it should be", err)
			}
			s.want("s1: a=down")
			if wait == 0 {
				s.wantTaken() // or a slice that flaps would be tried each time
				return
			}
			s.wantTaken("s1")
			s.fail(errDenied, "s1")
			s.load()
			s.wantWake(time.Duration(s.random * float64(time.Second)))
		})
	}
}

func TestContract21AConflictIsTriedAgainAtOnceAfterTheReadAndThenBacksOff(t *testing.T) {
	for name, second := range map[string]error{"conflict": publish.ErrConflict, "webhook": errDenied} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, "s1: a=ready")
			s.want("s1: a=down")
			s.wantTaken("s1")
			s.fail(fmt.Errorf("update: %w", publish.ErrConflict), "s1")
			s.wantTaken()
			s.load(s.read("s1: a=ready")...)
			s.wantTaken("s1")
			s.fail(second, "s1")
			s.load(s.read("s1: a=ready")...)
			s.wantTaken()
			s.wantWake(time.Second)
		})
	}
}

func TestContract26SlicesWhoseLastWriteFailedShareTwoLanes(t *testing.T) {
	s := three(t, 0)
	s.wantTaken("s1", "s2", "s3")
	s.fail(errDenied, "s1", "s2", "s3")
	s.load()
	s.pass(time.Minute)
	s.want("s4: d=ready")
	s.wantTaken("s4", "s1", "s2")
	s.land("s4")
	s.wantTaken()
	s.fail(errDenied, "s1")
	s.wantTaken("s3")
	s.land("s3")
	s.want("s3: c=down")
	s.wantTaken("s3") // it has its place among all again
}

// TestContract26OutboxesOfOneServerShareTwoLanesForWhatFails: two requests at once try again what
// failed, however many slices and Services that is, and one where there are two.
func TestContract26OutboxesOfOneServerShareTwoLanesForWhatFails(t *testing.T) {
	for lanes, most := range map[int]int{1: 1, 2: 1, 3: 2, writer.Lanes: 2} {
		for retrying := range 4 {
			server := writer.Server{Lanes: lanes, Underway: retrying, Retrying: retrying}
			if got, want := server.TakesRetries(), retrying < most; got != want {
				t.Errorf("%d of %d are tried again, and another one may be: %t, want %t", retrying, lanes, got, want)
			}
		}
	}
}

// TestContract26ALossWaitsForNoSliceThatFailsOfTwoLanes: kubectl has no more.
func TestContract26ALossWaitsForNoSliceThatFailsOfTwoLanes(t *testing.T) {
	s := newScene(t, 2, "s1: a=ready", "s2: b=ready", "s3: c=ready", "s4: d=ready")
	s.want("s1: a=draining", "s2: b=draining")
	s.wantTaken("s1", "s2")
	s.fail(errDenied, "s1", "s2")
	s.load()
	s.pass(time.Minute)
	s.plan()
	s.wantTaken("s1") // and it hangs
	s.want("s3: c=down")
	s.wantTaken("s3")
}

// TestContract26ALossWaitsForNoSliceThatFails: a conflict is not a failure, it was
// only decided on an old state.
func TestContract26ALossWaitsForNoSliceThatFails(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready", "s2: b=ready", "s3: c=ready", "s4: d=ready")
	s.want("s1: a=draining", "s2: b=draining")
	s.wantTaken("s1", "s2")
	s.fail(errDenied, "s1", "s2")
	s.load()
	s.pass(time.Minute)
	s.plan()
	s.wantTaken("s1", "s2") // and they hang
	s.want("s3: c=down")
	s.wantTaken("s3")
	s.fail(publish.ErrConflict, "s3")
	s.load(s.read("s3: c=ready")...)
	s.wantTaken("s3")
}

// TestContract55AnAdditionIsAsUrgentAsTheLossThatWaitsForIt, and no more urgent than other additions
// where no loss waits for it.
func TestContract55AnAdditionIsAsUrgentAsTheLossThatWaitsForIt(t *testing.T) {
	wantRank := func(s *scene, want writer.Rank) {
		t.Helper()
		if turn, ok := s.box.Next(s.now, true); !ok || turn.Rank != want {
			t.Errorf("got %v, %t, want a write of rank %v", turn, ok, want)
		}
	}
	last := newScene(t, 0, "s1: a=ready")
	last.want("s1: a=down", "s2: b=ready")
	wantRank(last, writer.Loss)
	last.wantTaken("s2") // the loss would leave none that is ready
	apart := newScene(t, 0, "s1: a=ready c=ready")
	apart.want("s1: a=down c=ready")
	apart.wantTaken("s1")
	apart.fail(errDenied, "s1")
	apart.load()
	apart.want("s2: b=ready")
	wantRank(apart, writer.Gain) // the loss waits for the end of its back-off
	alone := newScene(t, 0, "s1: a=down")
	alone.want("s1: a=ready")
	wantRank(alone, writer.Gain)
}

func TestContract26TheErrorShownIsThatOfSlicesThatCannotBeWritten(t *testing.T) {
	s := three(t, 0)
	s.wantTaken("s1", "s2", "s3")
	if err := s.box.Err(); err != nil {
		t.Errorf("got %v before anything failed", err)
	}
	s.fail(errDenied, "s2", "s1")
	if err := s.box.Err(); !errors.Is(err, errDenied) || err.Error() != "2 slices cannot be written; the first: "+errDenied.Error() {
		t.Errorf("got %v, want both", err)
	}
	s.load()
	s.pass(time.Second)
	s.wantTaken("s1", "s2")
	s.land("s1")
	if err := s.box.Err(); err != errDenied { //nolint:errorlint // it is not to be wrapped
		t.Errorf("got %v, want that of s2", err)
	}
	s.land("s2")
	if err := s.box.Err(); err != nil {
		t.Errorf("got %v after all was written", err)
	}
}
