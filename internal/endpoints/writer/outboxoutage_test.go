package writer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// askedToWait is an answer with Retry-After.
func askedToWait(after time.Duration) error {
	return publish.Unavailable(errors.New("too many requests"), after)
}

var errAway = fmt.Errorf("dial tcp: connection refused: %w", publish.ErrUnavailable)

func TestContract26AnOutageDelaysAllAndThenOneTriesFirst(t *testing.T) {
	s := three(t, 0)
	s.wantTaken("s1", "s2", "s3")
	s.fail(errAway, "s1", "s2", "s3")
	s.wantTaken()
	s.load()
	s.want("s4: d=ready")
	s.wantTaken()
	s.wantWake(500 * time.Millisecond) // one failure, not three
	s.pass(500*time.Millisecond + 1)
	s.wantTaken("s4")
	s.wantWake(0) // the answer comes first
	s.pass(100 * time.Millisecond)
	s.fail(errAway, "s4")
	s.wantTaken()
	s.wantWake(time.Second)
	s.load()
	s.pass(time.Second + 1)
	s.wantTaken("s4")
	s.land("s4")
	s.wantTaken("s1", "s2", "s3")
}

// TestContract26AnAnswerEndsAnOutageWhateverItSays: a server that refuses can be
// reached.
func TestContract26AnAnswerEndsAnOutageWhateverItSays(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"refused":  {errDenied, []string{"s2", "s3"}},
		"conflict": {publish.ErrConflict, []string{"s2", "s3"}},
		"away":     {errAway, nil},
		"silence":  {context.DeadlineExceeded, []string{"s2"}}, // that is no answer: one at a time
	} {
		t.Run(name, func(t *testing.T) {
			s := three(t, 0)
			s.wantTaken("s1", "s2", "s3")
			s.fail(errAway, "s1", "s2", "s3")
			s.load()
			s.pass(time.Second)
			s.wantTaken("s1")
			s.fail(c.err, "s1")
			s.wantTaken(c.want...)
		})
	}
}

func TestContract26AnOutageThatNothingShowedTheEndOfIsForgotten(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready")
	s.random = 0.999999
	for range 5 {
		s.want("s1: a=down")
		s.wantTaken("s1")
		s.fail(errAway, "s1")
		s.load()
		s.pass(15 * time.Second)
	}
	s.want("s1: a=ready")
	s.pass(24 * time.Hour)
	s.want("s1: a=down")
	s.wantTaken("s1")
	s.fail(errAway, "s1")
	s.load()
	s.wantWake(time.Duration(s.random * float64(time.Second)))
}

func TestContract26RetryAfterIsHonoured(t *testing.T) {
	s := three(t, 2)
	s.wantTaken("s1", "s2")
	s.fail(askedToWait(7*time.Second), "s1")
	s.fail(askedToWait(9*time.Second), "s2") // sent before the other answer came, and still asks
	s.load()
	s.wantWake(9 * time.Second)
	s.pass(9*time.Second - 1)
	s.wantTaken()
	s.pass(1)
	s.wantTaken("s1")
}

// TestContract26ASuccessEndsAnOutage even if its request was sent before: it shows
// that the server answers.
func TestContract26ASuccessEndsAnOutage(t *testing.T) {
	s := three(t, 2)
	s.wantTaken("s1", "s2")
	s.fail(errAway, "s1")
	s.wantTaken()
	s.land("s2")
	s.wantTaken("s3")
}
