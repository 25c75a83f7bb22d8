package controllertest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// faulty is an Announcer with a defect.
type faulty struct{ left int }

func (f *faulty) Announce(n explain.Notice) {
	if n.Reason == explain.EndpointsUpdated && f.left > 0 {
		f.left--
		panic("announcer")
	}
}

// TestContract54ADefectOfWhatTellsStopsNothing: it is told once for as long as it lasts.
func TestContract54ADefectOfWhatTellsStopsNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		f := &faulty{}
		w.opts.Announcer = f
		s := w.start()
		during(10 * time.Second)
		f.left = 2
		w.set(func() { w.dead[ip(12)] = true })
		during(10 * time.Second)
		w.set(func() { w.dead[ip(13)] = true })
		during(10 * time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" down", ip(13)+" down")
		if got := s.Status(); got.Counts.Defects != 0 || len(got.State.Slices) != 1 || got.Store.Pending != 0 || !s.Alive() {
			t.Errorf("got %d defects, %d slices and %d pending, want 0, 1 and 0", got.Counts.Defects, len(got.State.Slices), got.Store.Pending)
		}
		lines := w.logs.with("a defect of the program: telling what happened panicked; endpoints are checked and written all the same")
		if f.left > 0 || len(lines) == 0 || len(lines) > 2 || lines[0]["panic"] != "announcer" || !strings.Contains(fmt.Sprint(lines[0]["stack"]), "Announce") {
			t.Errorf("got %v, want a line that tells the panic and its place", lines)
		}
		w.stop()
	})
}
