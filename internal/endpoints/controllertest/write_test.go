package controllertest_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestContract03ReadsBackOffHonourRetryAfterAndNeverOverlap(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.set(func() { w.readErr, w.reads, w.readTakes = errors.New("boom"), nil, time.Hour })
		during(time.Hour)
		w.set(func() {
			if w.overlaps > 0 {
				t.Errorf("%d reads overlapped", w.overlaps)
			}
			if n := len(w.reads); n < 12 || n > 60 {
				t.Errorf("got %d reads in an hour of failures, want some at first and then one in 5 min at the most", n)
			}
			w.readErr, w.reads, w.readTakes = retryLater(10*time.Minute), nil, 0
		})
		during(time.Hour)
		w.set(func() {
			if n := len(w.reads); n < 5 || n > 7 {
				t.Errorf("got %d reads in an hour of Retry-After: 10 min, want 6", n)
			}
		})
	})
}

// retryLater is an error as an API that throttles answers it.
func retryLater(after time.Duration) error {
	return &transport.RetryAfterError{Err: errors.New("too many requests"), After: after}
}

func TestContract21AConflictIsDecidedAgainAndNeverResent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		state, err := w.store.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		foreign := publish.Write{Operation: publish.Update, Slice: state.Slices[0], Trigger: time.Now()}
		foreign.Slice.Endpoints = foreign.Slice.Endpoints[:1]
		// Another client writes between our load and our write.
		w.store.set(func() {
			w.store.fail = func(publish.Write) error {
				w.store.fail = nil
				_, err := w.store.Memory.Write(t.Context(), foreign)
				return err
			}
		})
		w.set(func() { w.dead[ip(13)] = true })
		during(20 * time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" down")
		writes := w.store.taken()
		if len(writes) < 2 || !errors.Is(writes[0].err, publish.ErrConflict) {
			t.Fatalf("got writes %+v, want a conflict first", writes)
		}
		for _, again := range writes[1:] {
			if again.write.Slice.Version == writes[0].write.Slice.Version {
				t.Error("the stale write was sent again")
			}
		}
	})
}

func TestContract21ALostAnswerToACreateMakesNoSecondSlice(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12)
		w.store.set(func() { w.store.lost = true })
		w.start()
		during(2 * time.Second)
		w.store.set(func() { w.store.lost = false })
		during(2 * time.Minute)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready")
		for _, got := range w.store.taken() {
			if got.write.Slice.Name != "web-remote" {
				t.Errorf("got a write of %s", got.write.Slice.Name)
			}
		}
		w.stop()
	})
}

func TestContract23AnEditWarIsFoughtEverMoreRarely(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		edit := func() {
			state, err := w.store.Load(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if len(state.Slices[0].Endpoints) < 3 {
				return // not repaired yet
			}
			foreign := publish.Write{Operation: publish.Update, Slice: state.Slices[0], Trigger: time.Now()}
			foreign.Slice.Endpoints = foreign.Slice.Endpoints[:2]
			if _, err := w.store.Memory.Write(t.Context(), foreign); err != nil {
				t.Error(err)
			}
			w.store.SetService(w.store.service) // the edit is announced, as a watch does
		}
		edit()
		during(time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready")
		for range 600 {
			edit()
			during(time.Second)
		}
		if n := len(w.store.taken()); n < 5 || n > 15 {
			t.Errorf("got %d repairs in 10 min of edits, want about one for each doubling of the pause", n)
		}
		during(11 * time.Minute)
		edit()
		during(time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready")
	})
}

func TestContract26FiveWritesOfASliceGoOutAtOnceAndThenOneASecond(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		during(10 * time.Second) // the bucket is full
		start := time.Now()
		for i := range 20 {
			w.setNodes(11, 12, 13, 14+i)
			w.signal <- struct{}{}
			during(100 * time.Millisecond)
		}
		first := w.store.taken()
		if len(first) < 5 || first[4].at.Sub(start) > 500*time.Millisecond {
			t.Errorf("got %d writes in 2 s of changes every 100 ms, want each of the first five at once: %+v", len(first), first)
		}
		during(time.Minute)
		wantBucket(t, slices.Concat(first, w.store.taken()))
		if got := w.members(); !slices.Contains(got, ip(33)+" ready") {
			t.Errorf("the last change was not written: %v", got)
		}
	})
}

// wantBucket checks that no slice was written more often than a bucket of five
// that gets one a second allows.
func wantBucket(t *testing.T, writes []written) {
	t.Helper()
	sent := map[string][]time.Time{}
	for _, w := range writes {
		name := w.write.Slice.Name
		sent[name] = append(sent[name], w.at)
	}
	for name, times := range sent {
		for i := range times {
			for j := i + 5; j < len(times); j++ {
				if span, least := times[j].Sub(times[i]), time.Duration(j-i-4)*time.Second; span < least {
					t.Fatalf("slice %s: got %d writes within %s, want %s at least", name, j-i+1, span, least)
				}
			}
		}
	}
}

func TestContract30AWriteUnderWayEndsAndNoneIsBegun(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.store.set(func() { w.store.takes = 4 * time.Second })
		w.set(func() { w.dead[ip(12)] = true })
		during(3500 * time.Millisecond)
		start := time.Now()
		w.stop()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("stopping took %s, want at most 5 s", took)
		}
		writes := wantWrites(t, w, 1)
		if len(writes) == 1 && writes[0].err != nil {
			t.Errorf("the write under way failed: %v", writes[0].err)
		}
		wantMembers(t, w, ip(11)+" ready", ip(12)+" down", ip(13)+" ready")
		w.stop = func() {}
	})
}

func TestAStoreThatFailsIsAskedAgainAndGetsTheNewestDecision(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.store.set(func() { w.store.fail = func(publish.Write) error { return errors.New("API server down") } })
		w.set(func() { w.dead[ip(12)] = true })
		during(5 * time.Minute)
		if n := len(w.store.taken()); n < 15 || n > 150 {
			t.Errorf("got %d tries in 5 min, want one in 15 s at the least and not a storm", n)
		}
		w.set(func() { delete(w.dead, ip(12)); w.dead[ip(13)] = true })
		during(time.Minute)
		w.store.set(func() { w.store.fail = nil })
		during(20 * time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" down")
	})
}

func TestADryRunDecidesAndWritesNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12)
		w.opts.DryRun = true
		s := w.start()
		during(time.Minute)
		wantWrites(t, w, 0)
		if got := len(s.Status().Verdict.Members); got != 2 {
			t.Errorf("got %d members decided, want 2", got)
		}
		if got := len(w.logs.with("dry run, slice not written")); got != 1 {
			t.Errorf("got %d lines about what would be written, want 1", got)
		}
		w.stop()
	})
}

func TestAStoreThatAnnouncesNothingIsLookedAtAndWrittenHoweverOftenTheSourceIsRead(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12)
		w.opts.StoreChanged = nil
		w.opts.PollInterval = 100 * time.Millisecond
		w.store.set(func() { w.store.loadTakes = 300 * time.Millisecond })
		w.start()
		during(10 * time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready")
		w.store.Remove("web-remote")
		during(10 * time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready")
		w.stop()
	})
}
