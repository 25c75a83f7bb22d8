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

// TestContract54ADefectStopsTheTargetForASecondAndIsTold: checks go on meanwhile, and
// what they decide is written then.
func TestContract54ADefectStopsTheTargetForASecondAndIsTold(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		f := &faulty{}
		w.opts.Announcer = f
		s := w.start()
		during(10 * time.Second)
		f.left = 1
		w.set(func() { w.dead[ip(12)] = true })
		during(10 * time.Second)
		w.set(func() { w.dead[ip(13)] = true })
		during(10 * time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" down", ip(13)+" down")
		if got := s.Status(); got.Counts.Defects != 1 || len(got.State.Slices) != 1 || got.Store.Pending != 0 || !s.Alive() {
			t.Errorf("got %d defects, %d slices and %d pending, want 1, 1 and 0", got.Counts.Defects, len(got.State.Slices), got.Store.Pending)
		}
		lines := w.logs.with("the Service is not filled because of a defect of the program, its slices stay as they are")
		if len(lines) != 1 || lines[0]["error"] != "defect of the program: announcer" || !strings.Contains(fmt.Sprint(lines[0]["stack"]), "Announce") {
			t.Errorf("got %v, want one line that tells the panic and its place", lines)
		}
		w.stop()
	})
}
