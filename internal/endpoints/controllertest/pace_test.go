package controllertest_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestContract03ASignalDoesNotCutRetryAfterShort(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.set(func() { w.readErr = errors.New("boom") })
		during(time.Hour) // by now the back-off is longer than what follows
		const after = 20 * time.Second
		w.set(func() { w.readErr, w.reads = retryLater(after), nil })
		for range 3000 {
			select {
			case w.signal <- struct{}{}:
			default:
			}
			during(time.Second)
		}
		w.set(func() {
			for i := 1; i < len(w.reads); i++ {
				if gap := w.reads[i].Sub(w.reads[i-1]); gap < after {
					t.Fatalf("read %d came %s after one that was answered Retry-After: %s", i, gap, after)
				}
			}
			if len(w.reads) < 10 {
				t.Errorf("got %d reads, want a signal to count once the time is over", len(w.reads))
			}
		})
	})
}

func TestContract26HoldsForSlowWritesAndLostAnswers(t *testing.T) {
	for name, fault := range map[string]func(f *fakeStore, rough bool){
		"several slices, one after the other": func(f *fakeStore, rough bool) {
			f.takes = 0
			if rough {
				f.takes = 400 * time.Millisecond
			}
		},
		"answers that are lost": func(f *fakeStore, rough bool) { f.lost = rough },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t, 11, 12, 13)
				w.opts.Target.MaxEndpoints = 1
				w.start()
				during(3 * time.Second)
				w.store.taken()
				for i := range 200 { // every slice differs again before it is written
					w.store.set(func() { fault(w.store, i/7%2 == 0) })
					w.set(func() {
						w.nodes = slices.Clone(w.nodes)
						for n := range w.nodes {
							w.nodes[n].Zone = fmt.Sprint("zone-", i)
						}
					})
					w.signal <- struct{}{}
					during(130 * time.Millisecond)
				}
				writes := w.store.taken()
				wantBucket(t, writes)
				if len(writes) < 20 {
					t.Errorf("got %d writes, want what the bucket allows", len(writes))
				}
				w.stop()
			})
		})
	}
}
