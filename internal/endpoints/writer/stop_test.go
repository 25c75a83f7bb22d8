package writer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestContract30WritesUnderWayEndAndAreToldAndNoneBegins(t *testing.T) {
	for name, c := range map[string]struct {
		takes, stop time.Duration
		// under are under way, and end in time or not.
		under  int
		landed bool
		within time.Duration
	}{
		"they need four seconds":           {4 * time.Second, time.Second, 8, true, 3 * time.Second},
		"they hang":                        {time.Hour, time.Second, 8, false, 4 * time.Second},
		"they hang, and began just now":    {time.Hour, 0, 8, false, 5 * time.Second},
		"a second before, and others came": {time.Second, 1500 * time.Millisecond, 16, true, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, 30, func(w *world) {
				var began []time.Time
				w.set(func() {
					w.write = func(ctx context.Context, _ publish.Write) error {
						w.set(func() { began = append(began, time.Now()) })
						return wait(ctx, c.takes)
					}
				})
				w.told()
				w.rezone("z2")
				synctest.Wait()
				time.Sleep(c.stop) // and not until it has settled
				stopped := time.Now()
				w.stop()
				if took := time.Since(stopped); took > c.within {
					t.Errorf("Run returned after %s, want %s", took, c.within)
				}
				for _, at := range began {
					if at.After(stopped) {
						t.Errorf("a write began %s after the stop", at.Sub(stopped))
					}
				}
				if len(began) != c.under {
					t.Errorf("got %d writes, want %d", len(began), c.under)
				}
				results := resultsOf(w.told())
				if len(results) != len(began) {
					t.Errorf("got %d results of %d writes", len(results), len(began))
				}
				for _, r := range results {
					if (r.Err == nil) != c.landed {
						t.Errorf("got %v, want success: %t", r.Err, c.landed)
					}
				}
			})
		})
	}
}

// TestContract30NothingBeginsOnceItIsToldToStop although there is something to
// write by then.
func TestContract30NothingBeginsOnceItIsToldToStop(t *testing.T) {
	for range 20 { // of two things that happened any may be seen first
		bubble.Test(t, func(t *testing.T) {
			w := newWorld(t)
			stopped := false
			w.opts.Observe = func(o writer.Outcome) {
				if !stopped && len(o.Results) > 0 { // the loop is busy when both happen
					stopped = true
					w.cancel()
					w.decide(inventory.StateReady, 2)
				}
			}
			w.start()
			w.decide(inventory.StateReady, 1)
			during(time.Minute)
			w.stop()
			w.wantPublished("1=ready")
		})
	}
}

// TestContract26AWriteWithoutAnswerIsReadAlsoByTheNextTarget: what became of the write is
// not known, and the target that asked is gone; the next one has a state from before.
func TestContract26AWriteWithoutAnswerIsReadAlsoByTheNextTarget(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, writer.SetOptions{}, "shop/web")
		s := c.all["shop/web"]
		c.start()
		c.set.Publish("blue", verdict(2))
		during(5 * time.Second)
		s.set(func() {
			s.write = func(ctx context.Context, _ publish.Write) error { return wait(ctx, time.Hour) }
		})
		c.set.Publish("blue", verdict(2, 1))
		during(time.Second)
		c.remove(s)
		<-s.added.Gone()
		state, err := s.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.fill.State = &state
		s.set(func() { s.write = nil })
		c.add(s)
		during(20 * time.Second)
		if got := s.published(); got != "1=down 2=ready" {
			t.Errorf("got %q 20 s after the target came back, want the dead endpoint down", got)
		}
		c.stop()
	})
}
