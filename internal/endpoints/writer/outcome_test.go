package writer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// passes counts the outcomes of passes.
func passes(told []writer.Outcome) int {
	n := 0
	for _, o := range told {
		if o.Passed {
			n++
		}
	}
	return n
}

// resultsOf returns the results of all writes.
func resultsOf(told []writer.Outcome) []writer.Result {
	var all []writer.Result
	for _, o := range told {
		all = append(all, o.Results...)
	}
	return all
}

func TestAnErrorThatIsOverIsNotShown(t *testing.T) {
	for name, c := range map[string]struct {
		happen func(w *world)
		landed bool
	}{
		"the answer was lost": {func(w *world) {
			w.set(func() { w.after = func(context.Context, publish.Write) error { return errors.New("connection reset") } })
			w.decide(inventory.StateDown, 1)
			during(100 * time.Millisecond)
			w.set(func() { w.after = nil })
		}, true},
		"it failed and is needed no more": {func(w *world) {
			w.set(func() { w.write = func(context.Context, publish.Write) error { return errRefused } })
			w.decide(inventory.StateDown, 1)
			during(10 * time.Second)
			if w.last().WriteErr == nil || w.last().Pending != 1 {
				t.Error("want the error to be shown while the slice cannot be written")
			}
			w.decide(inventory.StateReady, 1)
			during(100 * time.Millisecond)
		}, false},
		"it failed and was written by somebody else": {func(w *world) {
			w.set(func() { w.write = func(context.Context, publish.Write) error { return errRefused } })
			w.decide(inventory.StateDown, 1)
			during(10 * time.Second)
			again := w.last().Writes[0]
			again.Trigger = time.Now()
			if _, err := w.store.Write(t.Context(), again); err != nil {
				t.Error(err)
			}
			w.store.SetService(service) // the watch says so
			during(100 * time.Millisecond)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, 3, func(w *world) {
				w.told()
				c.happen(w)
				if got := w.last(); got.WriteErr != nil || got.LoadErr != nil || got.Pending != 0 {
					t.Errorf("got errors %v and %v and %d pending, want none", got.WriteErr, got.LoadErr, got.Pending)
				}
				for _, r := range resultsOf(w.told()) {
					if c.landed && r.Err != nil {
						t.Errorf("got %v of a write that landed", r.Err)
					}
				}
			})
		})
	}
}

func TestLoadAndWriteErrorsAreToldApart(t *testing.T) {
	in(t, 3, func(w *world) {
		w.set(func() { w.load = func(context.Context) error { return errors.New("no watch") } })
		w.store.SetService(service)
		during(time.Second)
		if got := w.last(); got.LoadErr == nil || got.WriteErr != nil {
			t.Errorf("got load error %v and write error %v, want the first only", got.LoadErr, got.WriteErr)
		}
		w.decide(inventory.StateDown, 1) // a store that cannot be read can still be written
		synctest.Wait()
		w.wantPublished("1=down 2=ready 3=ready")
		w.set(func() { w.load = nil })
		during(15 * time.Second)
		if got := w.last(); got.LoadErr != nil {
			t.Errorf("got %v after the store could be read again", got.LoadErr)
		}
	})
}

func TestContract36WhatMayBeOutOfDateIsToldAndWrittenAllTheSame(t *testing.T) {
	in(t, 3, func(w *world) {
		w.set(func() { w.stale = errors.New("the watch is refused") })
		w.store.SetService(service)
		during(time.Second)
		if got := w.last(); got.LoadErr == nil || got.LoadErr.Error() != "the watch is refused" {
			t.Errorf("got load error %v, want why it may be out of date", got.LoadErr)
		}
		loads := w.loads()
		w.decide(inventory.StateDown, 1)
		synctest.Wait()
		w.wantPublished("1=down 2=ready 3=ready")
		during(time.Minute)
		if got := w.loads() - loads; got < 4 || got > 60 { // metrics count them
			t.Errorf("got %d loads in a minute, want one every 15 s at least", got)
		}
		w.set(func() { w.stale = nil })
		during(15 * time.Second)
		if got := w.last(); got.LoadErr != nil {
			t.Errorf("got %v after that was over", got.LoadErr)
		}
	})
}

// TestContract23WhileAWatchIsStaleNewsAreTakenInAtOnce: it may be one of two watches, or a conflict
// that tells.
func TestContract23WhileAWatchIsStaleNewsAreTakenInAtOnce(t *testing.T) {
	in(t, 3, func(w *world) {
		w.set(func() { w.stale = errors.New("the watch of Services is refused") })
		w.store.SetService(service)
		for range 3 {
			during(time.Minute)
			for _, slice := range w.store.Slices() {
				w.store.Remove(slice.Name)
			}
			synctest.Wait()
			w.wantPublished("1=ready 2=ready 3=ready")
			during(time.Minute)
			w.set(func() {
				w.write = func(context.Context, publish.Write) error {
					w.set(func() { w.write = nil })
					return publish.ErrConflict
				}
			})
			w.decide(inventory.StateDown, 1)
			synctest.Wait()
			w.wantPublished("1=down 2=ready 3=ready")
			w.decide(inventory.StateReady, 1)
		}
	})
}

func TestContract36ASliceThatCannotBeReadIsTold(t *testing.T) {
	in(t, 3, func(w *world) {
		w.set(func() { w.unread = errors.New("read slice web-remote again: no answer") })
		w.store.SetService(service)
		during(time.Second)
		if got := w.last(); got.LoadErr == nil || got.LoadErr.Error() != "read slice web-remote again: no answer" {
			t.Errorf("got load error %v, want why the slice could not be read", got.LoadErr)
		}
	})
}

func TestAFailedWriteIsShownAtOnceAlthoughTheLoadHangs(t *testing.T) {
	in(t, 3, func(w *world) {
		w.set(func() {
			w.load = func(ctx context.Context) error { return wait(ctx, time.Hour) }
			w.write = func(context.Context, publish.Write) error { return errRefused }
		})
		w.decide(inventory.StateDown, 1)
		during(time.Millisecond)
		if got := w.last(); got.WriteErr == nil || got.Pending != 1 {
			t.Errorf("got error %v and %d pending, want both", got.WriteErr, got.Pending)
		}
	})
}

func TestAFailedWriteIsToldAlthoughNoLoadCanShowWhatCameOfIt(t *testing.T) {
	in(t, 3, func(w *world) {
		w.set(func() {
			w.load = func(context.Context) error { return errors.New("away") }
			w.write = func(context.Context, publish.Write) error { return errRefused }
		})
		w.told()
		w.decide(inventory.StateDown, 1)
		during(2 * time.Second)
		if got := resultsOf(w.told()); len(got) != 1 || got[0].Err == nil {
			t.Errorf("got %+v, want the failure", got)
		}
	})
}

func TestAnAnnouncementThatSaysNothingNewCostsNoPass(t *testing.T) {
	in(t, 3, func(w *world) {
		w.told()
		for range 5 {
			w.store.SetService(service)
			during(time.Second)
		}
		if got := passes(w.told()); got > 0 {
			t.Errorf("got %d passes of 5 announcements of nothing, want none", got)
		}
		w.set(func() {
			w.write = func(ctx context.Context, _ publish.Write) error { return wait(ctx, 100*time.Millisecond) }
		})
		w.decide(inventory.StateDown, 1)
		during(50 * time.Millisecond)
		w.store.SetService(service) // while the write is under way
		during(10 * time.Second)
		if got := passes(w.told()); got != 1 {
			t.Errorf("got %d passes of one decision, its write and their echo, want 1", got)
		}
	})
}

func TestContract23AnEditIsRepairedWheneverItComes(t *testing.T) {
	for _, milliseconds := range []int{10, 90, 110, 190, 210, 290, 310} {
		at := time.Duration(milliseconds) * time.Millisecond
		t.Run(at.String(), func(t *testing.T) {
			in(t, 2, func(w *world) {
				slow := func(ctx context.Context) error { return wait(ctx, 100*time.Millisecond) }
				w.set(func() {
					w.load = slow
					w.write = func(ctx context.Context, _ publish.Write) error { return slow(ctx) }
					w.after = func(ctx context.Context, _ publish.Write) error { return slow(ctx) }
				})
				w.store.SetService(service)
				w.decide(inventory.StateDown, 1)
				during(at)
				state, err := w.store.Load(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				foreign := publish.Write{Operation: publish.Update, Slice: state.Slices[0], Trigger: time.Now()}
				foreign.Slice.Endpoints = nil
				if _, err := w.store.Write(t.Context(), foreign); err != nil {
					t.Fatal(err)
				}
				w.store.SetService(service)
				during(3 * time.Second)
				w.wantPublished("1=down 2=ready")
			})
		})
	}
}

func TestResultsOfOneBurstAreToldTogether(t *testing.T) {
	in(t, 20, func(w *world) {
		w.set(func() {
			w.write = func(ctx context.Context, _ publish.Write) error { return wait(ctx, 200*time.Millisecond) }
		})
		w.told()
		w.rezone("z2")
		during(5 * time.Second)
		told := w.told()
		if got := len(resultsOf(told)); got != 20 {
			t.Errorf("got %d results, want each of 20 once", got)
		}
		with, pending := 0, map[int]bool{}
		for _, o := range told {
			pending[o.Pending] = true
			if len(o.Results) > 0 {
				with++
			}
		}
		if with != 1 {
			t.Errorf("got results in %d outcomes, want all in one", with)
		}
		if len(pending) < 10 {
			t.Errorf("got %v told as pending, want to see it go on", pending)
		}
	})
}

func TestADryRunWritesNothingAndSaysWhatItWould(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.DryRun = true
		w.start()
		w.decide(inventory.StateReady, 1, 2)
		during(time.Minute)
		if got := w.last(); got.Pending != 2 || len(w.taken()) > 0 {
			t.Errorf("got %d pending and writes, want 2 and none", got.Pending)
		}
		w.stop()
	})
}

// mute is a store that does not return the version it made.
type mute struct{ *world }

func (m mute) Write(ctx context.Context, write publish.Write) (string, error) {
	_, err := m.world.Write(ctx, write)
	return "", err
}

func TestAStoreThatTellsNoVersionIsReadAfterItsWrites(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Store = mute{w}
		w.start()
		for i := range 4 {
			w.decide([]inventory.State{inventory.StateReady, inventory.StateDown}[i%2], 1, 2)
			during(100 * time.Millisecond)
		}
		w.wantPublished("1=down 2=down")
		for _, wr := range w.taken() {
			if wr.err != nil {
				t.Errorf("got %v of a slice that no other program writes", wr.err)
			}
		}
		loads := w.loads()
		during(time.Minute)
		if got := w.loads() - loads; got > 0 || w.last().Pending > 0 {
			t.Errorf("got %d loads and %d pending when nothing happens, want none", got, w.last().Pending)
		}
		w.stop()
	})
}

func TestRecoverTriesUntilTheStateIsKnown(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		fail := true
		w.load = func(context.Context) error {
			if fail {
				return errors.New("not yet")
			}
			return nil
		}
		time.AfterFunc(time.Hour, func() { w.set(func() { fail = false }) })
		start := time.Now()
		w.start()
		if took := time.Since(start); took < time.Hour || took > time.Hour+15*time.Second {
			t.Errorf("recovered after %s, want within 15 s after it could be", took)
		}
		told := w.told()
		if n := len(told); n < 200 || n > 350 || told[n-2].LoadErr == nil || !told[n-1].Recovered || told[n-1].LoadErr != nil {
			t.Errorf("got %d failures told in an hour, want each of about 270, and then that it is recovered", n)
		}
		w.stop()
	})
}
