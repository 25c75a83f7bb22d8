package pool_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// newest is the verdict that is shown now.
func (w *world) newest() *guard.Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcomes[len(w.outcomes)-1].Verdict
}

// TestContract09LocalErrorsAreToldAlthoughTheSourceIsAwayToo: without file
// descriptors nothing can be read either.
func TestContract09LocalErrorsAreToldAlthoughTheSourceIsAwayToo(t *testing.T) {
	in(t, func(w *world) {
		w.set(func() {
			w.err = errors.New("too many open files")
			for o := 1; o <= 3; o++ {
				w.lost[address(o)] = true
			}
		})
		during(6 * time.Second)
		if got := w.newest().Unchecked; got != 0 {
			t.Errorf("got %d endpoints unchecked within FALL intervals, want 0", got)
		}
		during(3 * time.Second)
		if got := w.newest().Unchecked; got != 3 {
			t.Errorf("got %d endpoints unchecked after FALL intervals, want 3", got)
		}
		for _, d := range w.newest().Decisions {
			if !strings.Contains(d.Message, "too many open files") {
				t.Errorf("got message %q, want it to say why", d.Message)
			}
		}
		w.want("1=ready 2=ready 3=ready")
		w.set(func() { clear(w.lost) })
		during(4 * time.Second)
		if got := w.newest().Unchecked; got != 0 {
			t.Errorf("got %d endpoints unchecked although all are checked again, want 0", got)
		}
	})
}
