package writer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestContract26BehindASliceThatCannotBeWrittenALossIsWrittenAtOnce(t *testing.T) {
	hangs := func(ctx context.Context, _ publish.Write) error { return wait(ctx, time.Hour) }
	for name, fault := range map[string]func(context.Context, publish.Write) error{
		"it is refused":  func(context.Context, publish.Write) error { return errRefused },
		"it hangs":       hangs,
		"it conflicts":   func(context.Context, publish.Write) error { return publish.ErrConflict },
		"it takes a lot": func(ctx context.Context, _ publish.Write) error { return wait(ctx, 4*time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, 12, func(w *world) {
				broken := map[string]bool{"web": true, "web-2": true, "web-3": true}
				w.set(func() {
					w.write = func(ctx context.Context, write publish.Write) error {
						if broken[write.Slice.Name] {
							return fault(ctx, write)
						}
						return nil
					}
				})
				w.rezone("z2")
				for round := range 12 {
					during(700 * time.Millisecond)
					if got := w.downAfter(10); got > 0 {
						t.Fatalf("round %d: down in the store after %s, want at once", round, got)
					}
					w.decide(inventory.StateReady, 10)
					during(7 * time.Second)
				}
			})
		})
	}
}

func TestContract26AStoreThatNeedsASecondAndAHundredSlices(t *testing.T) {
	in(t, 100, func(w *world) {
		w.set(func() { w.write = func(ctx context.Context, _ publish.Write) error { return wait(ctx, time.Second) } })
		w.rezone("z2")
		during(2500 * time.Millisecond)
		if got := w.downAfter(3); got > 3*time.Second {
			t.Errorf("down in the store after %s, want 3 s at most", got)
		}
		during(time.Minute)
		if got := w.last(); got.Pending != 0 || got.WriteErr != nil {
			t.Errorf("got %d pending and error %v, want all written", got.Pending, got.WriteErr)
		}
	})
}

// TestContract26WhatIsSentIsTheNewestDecision although the diff was made long ago:
// nothing is published that has died since.
func TestContract26WhatIsSentIsTheNewestDecision(t *testing.T) {
	in(t, 40, func(w *world) {
		w.set(func() { w.write = func(ctx context.Context, _ publish.Write) error { return wait(ctx, time.Second) } })
		w.rezone("z2")
		during(1500 * time.Millisecond)
		for octet := 30; octet <= 39; octet++ {
			w.decide(inventory.StateDown, octet)
		}
		decided := time.Now()
		during(time.Minute)
		for _, wr := range w.taken() {
			m := wr.write.Slice.Endpoints[0]
			if o := int(m.Address.As4()[3]); o >= 30 && o <= 39 && !wr.at.Before(decided) && m.State != inventory.StateDown {
				t.Errorf("%d was sent as %s %s after it was down", o, m.State, wr.at.Sub(decided))
			}
		}
	})
}

func TestContract26ABlipStopsWritingForASecondHoweverManySlicesItHits(t *testing.T) {
	for name, blip := range map[string]error{"refused": errRefused, "away": publish.ErrUnavailable} {
		t.Run(name, func(t *testing.T) {
			in(t, 20, func(w *world) {
				for round := range 5 {
					w.set(func() { w.write = func(context.Context, publish.Write) error { return blip } })
					w.rezone(fmt.Sprint("z", round))
					during(50 * time.Millisecond)
					w.set(func() { w.write = nil })
					w.taken()
					during(time.Second)
					if got := len(w.taken()); got != 20 {
						t.Errorf("round %d: %d of 20 slices were written a second after a blip of 50 ms", round, got)
					}
					during(time.Minute)
				}
			})
		})
	}
}

func TestContract21AConflictThatNeedsNoWriteLeavesNoTrace(t *testing.T) {
	var tries [2]int
	for i := range tries {
		in(t, 1, func(w *world) {
			if i > 0 {
				w.set(func() {
					w.write = func(ctx context.Context, write publish.Write) error {
						w.set(func() { w.write = nil })
						_, err := w.store.Write(ctx, write) // another leader writes the same
						return errors.Join(err, publish.ErrConflict)
					}
				})
				w.decide(inventory.StateDown, 1)
				during(24 * time.Hour)
				w.decide(inventory.StateReady, 1)
				during(time.Minute)
				w.taken()
			}
			w.set(func() { w.write = func(context.Context, publish.Write) error { return errRefused } })
			w.decide(inventory.StateDown, 1)
			during(10 * time.Minute)
			tries[i] = len(w.taken())
		})
	}
	if tries[0] != tries[1] || tries[0] > 100 {
		t.Errorf("got %d tries in ten minutes, and %d after a conflict a day before, want the same", tries[0], tries[1])
	}
}

func TestContract26ATryIsMadeAsSoonAsItsBackOffIsOver(t *testing.T) {
	for name, fail := range map[string]func(w *world, err error){
		"a write": func(w *world, err error) { w.write = func(context.Context, publish.Write) error { return err } },
		"a load":  func(w *world, err error) { w.load = func(context.Context) error { return err } },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.opts.Random = func() float64 { return 0.1 }
				w.start()
				w.decide(inventory.StateReady, 1, 2)
				during(time.Minute)
				for range 3 { // what is over does not count any more
					w.set(func() { fail(w, errRefused) })
					w.decide(inventory.StateDown, 1)
					w.store.SetService(service)
					during(50 * time.Millisecond)
					if got := w.last(); got.WriteErr == nil && got.LoadErr == nil {
						t.Fatal("nothing failed")
					}
					w.set(func() { w.write, w.load = nil, nil })
					during(60 * time.Millisecond)
					if got := w.last(); got.WriteErr != nil || got.LoadErr != nil {
						t.Errorf("got errors %v and %v 110 ms after a failure, want the second try after 100 ms", got.WriteErr, got.LoadErr)
					}
					w.decide(inventory.StateReady, 1)
					during(time.Hour)
				}
				w.stop()
			})
		})
	}
}

func TestContract26ADiffIsMadeAnewEverySecondWhileMoreOfItIsSent(t *testing.T) {
	in(t, 80, func(w *world) {
		w.set(func() {
			w.write = func(ctx context.Context, _ publish.Write) error { return wait(ctx, 1100*time.Millisecond) }
		})
		w.told()
		w.rezone("z2")
		during(11 * time.Second)
		if got := passes(w.told()); got != 10 {
			t.Errorf("got %d passes for ten rounds of writes of more than a second, want one for each", got)
		}
	})
}

func TestContract20TheSameDecisionIsWrittenOnceAlthoughItComesAgainMeanwhile(t *testing.T) {
	in(t, 1, func(w *world) {
		w.set(func() {
			w.write = func(ctx context.Context, _ publish.Write) error { return wait(ctx, 300*time.Millisecond) }
		})
		w.decide(inventory.StateDown, 1)
		during(100 * time.Millisecond)
		w.publish()
		during(5 * time.Second)
		if got := len(w.taken()); got != 1 {
			t.Errorf("got %d writes, want 1", got)
		}
	})
}

// TestContract21AWriteThatWaitsStartsFromTheVersionThatWasLoaded, although another
// client changed only what we do not write.
func TestContract21AWriteThatWaitsStartsFromTheVersionThatWasLoaded(t *testing.T) {
	in(t, 1, func(w *world) {
		for i := range 6 { // the bucket holds five
			w.rezone(fmt.Sprint("z", i))
			synctest.Wait()
		}
		labelled := w.store.Slices()[0]
		labelled.Labels["team"] = "blue"
		w.store.Put(labelled)
		during(5 * time.Second)
		writes := w.taken()
		for _, wr := range writes {
			if wr.err != nil {
				t.Errorf("got %v", wr.err)
			}
		}
		if len(writes) != 6 {
			t.Errorf("got %d writes, want 6", len(writes))
		}
	})
}

func TestContract26ChangesOfASliceWhoseWriteIsUnderWayNeedNoReadAndMeetNoConflict(t *testing.T) {
	in(t, 1, func(w *world) {
		w.set(func() {
			w.write = func(ctx context.Context, _ publish.Write) error { return wait(ctx, 300*time.Millisecond) }
		})
		loads := w.loads()
		for i := range 4 {
			w.rezone(fmt.Sprint("z", i))
			during(100 * time.Millisecond)
		}
		during(5 * time.Second)
		for _, wr := range w.taken() {
			if wr.err != nil {
				t.Errorf("got %v of a slice that no other program writes", wr.err)
			}
		}
		if got := w.loads() - loads; got > 0 {
			t.Errorf("got %d loads, want none: the answer said which version it made", got)
		}
		if got := w.members[1].Zone; w.last().State.Slices[0].Endpoints[0].Zone != got {
			t.Errorf("got %v, want zone %s", w.last().State.Slices, got)
		}
	})
}
