package writer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestContract31TheAgeOfALoopIsTheTimeThatItStandsStill, and that of one that has nothing to
// do, or has ended, stays low.
func TestContract31TheAgeOfALoopIsTheTimeThatItStandsStill(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		set := writer.NewSet(writer.SetOptions{})
		want := func(when string, least, most time.Duration) {
			t.Helper()
			if got := set.Age(); got < least || got > most {
				t.Errorf("%s: got an age of %s, want %s to %s", when, got, least, most)
			}
		}
		time.Sleep(time.Hour)
		want("before it runs", 0, 0)
		stuck, stood := make(chan struct{}), false
		if _, err := set.Add(writer.Options{
			Fills:   []writer.Fill{{Pool: "blue", Store: w.opts.Store, Target: w.opts.Target}},
			Observe: func(writer.Outcome) { <-stuck; stood = true },
		}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); set.Run(ctx) }()
		during(time.Minute)
		want("while it stands still", 59*time.Second, time.Minute)
		close(stuck)
		for range 20 {
			during(700 * time.Millisecond)
			want("with nothing to do", 0, 2*time.Second)
		}
		cancel()
		<-done
		time.Sleep(time.Hour)
		want("when it has ended", 0, 0)
		if synctest.Wait(); !stood {
			t.Error("it never stood still")
		}
	})
}
