package targets_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
)

// quiet is for how long no Event of a change was sent before the daemon is at rest:
// thousands may wait, and ten a second are sent.
const quiet = 3 * time.Second

// TestMeasure takes all figures of one shape after the other, on the same API server.
func TestMeasure(t *testing.T) {
	f := chosen(t)
	w := newWorld(t, f)
	for _, s := range f.shapes {
		program.Progress("%d Services with %d endpoints each", s.targets, s.endpoints)
		d, b := w.newDaemon(s), w.newBare(s)
		d.restart()
		d.rest()
		for i := range f.rounds {
			d.die(i * 37 % s.endpoints)
			b.die(i * 37 % s.endpoints)
		}
		d.awaitQuiet()
		d.rest()
		d.Stop()
		b.Stop()
		program.Progress("the same by kube-controller-manager")
		w.newManager(s).measure()
	}
}
