//go:build lab

package lab_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
)

// drainTime is how long a node lives on after its end was announced. Real ones
// drain for minutes; nobody here looks at the slice before it goes. It is made of a poll
// of the source (2 s and its jitter), a write that may have to wait a second
// for the one before, and kube-proxy's rules, which it writes once a second.
const drainTime = 6 * time.Second

// rotate replaces every worker, one after the other: a new one joins, then the
// old one is announced to leave, ends gracefully, and is gone.
func rotate(t *testing.T, x *lab.Target) {
	t.Helper()
	for _, old := range x.Workers() {
		fresh := x.AddWorker()
		x.Mark("%s joins", fresh.Name)
		x.Join(fresh)
		x.AwaitState(fresh, "ready")
		x.Mark("%s leaves", old.Name)
		x.Leave(old)
		pause(drainTime)
		x.Mark("%s is gone", old.Name)
		old.Stop()
		old.Remove()
		x.Gone(old)
	}
}

// pause lets the load go on.
func pause(d time.Duration) { <-time.After(d) }

func TestRotation(t *testing.T) {
	w := lab.Start(t)
	for _, kind := range lab.Sources {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			x := w.Target(t, lab.Options{Source: kind})
			x.Begin(400)
			rotate(t, x)
			x.End()
			x.WantNoneLost()
		})
	}
}
