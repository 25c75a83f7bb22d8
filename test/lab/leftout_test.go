//go:build lab

package lab_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
)

// Gauges and counters of Envoy.
const (
	leftOut = "outlier_detection.ejections_active"
	panics  = "lb_healthy_panic"
)

// leftOutByEnvoy has workers that only Envoy does not reach: health checks pass, so slices
// say all the time that they are ready. Envoy leaves them out, and uses them again.
func leftOutByEnvoy(t *testing.T, w *lab.World) {
	fleet := w.Fleet(t, nil)
	f := newFront(t, w, fleet, lab.Options{Workers: 4})
	f.leftOutForAWhile()
	f.noneReached()
	newFront(t, w, fleet, lab.Options{Workers: 1}).noneReached()
}

// leftOutForAWhile has one worker that refuses Envoy until it was left out twice: Envoy
// tries it again by itself.
func (f *front) leftOutForAWhile() {
	f.Helper()
	f.begin(200)
	victim := f.service.Workers()[0]
	f.awaitUsed(victim)
	f.mark("one of 4 refuses Envoy, and health checks pass")
	f.excuse(victim)
	f.fleet.RefusedBy(victim)
	f.envoy.Await("Envoy leaves it out, and once more after it tried it again", func() bool { return f.since(ejections) >= 2 })
	f.wantAllReady()
	victim.Hear()
	f.awaitUsed(victim)
	f.revived(victim)
	f.end("left out", "a backend refuses Envoy, passes its health checks, and works again")
	f.service.WantNoneLost()
}

// noneReached has all workers refuse Envoy. It never answers by itself that there is none:
// it tries, and the first that works again gets requests, left out or not.
func (f *front) noneReached() {
	f.Helper()
	all := f.service.Workers()
	f.begin(100)
	f.awaitUsed(all...)
	f.mark("all refuse Envoy, and health checks pass")
	f.fleet.RefusedBy(all...)
	f.envoy.Await("Envoy leaves some out", func() bool { return f.fleet.Count(f.envoy, leftOut) > 0 })
	if out := f.fleet.Count(f.envoy, leftOut); len(all) > 1 && 2*int(out) > len(all) {
		f.Errorf("Envoy leaves out %d of %d workers, want half at the most", out, len(all))
	}
	f.wantAllReady()
	for _, victim := range all {
		victim.Hear()
	}
	f.mark("they work again")
	f.awaitUsed(all...)
	well := time.Now()
	f.envoy.AwaitRequests(f.envoy.Record().Len() + 100)
	for _, x := range f.both() {
		x.End()
	}
	f.envoy.WantNoneLostSince(well)
	f.service.WantNoneLost()
	for _, line := range f.fleet.Failed(f.envoy) {
		if strings.Contains(line.Flags, "UH") {
			f.Fatalf("Envoy tried no worker, because it had left out too many: %+v", line)
		}
	}
	if len(all) == 1 && f.fleet.Count(f.envoy, panics) == 0 {
		f.Error("Envoy left out the only worker, and was never in the mode in which all are used")
	}
	f.report(fmt.Sprintf("none of %d reached", len(all)), "all backends refuse Envoy, pass their health checks, and work again")
}

// wantAllReady fails the test if a slice does not say that all workers are ready.
func (f *front) wantAllReady() {
	f.Helper()
	for address, state := range f.service.States() {
		if state != "ready" {
			f.Errorf("the slice says that %v is %s, and its health checks pass", address, state)
		}
	}
}
