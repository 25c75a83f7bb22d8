//go:build lab

package lab_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// drainTime is how long a node lives on after its end was announced. Real ones
// drain for minutes; nobody looks at the slice before it goes. In it are a poll
// of the source (2 s and its jitter), a write that may have to wait a second for
// the one before, and kube-proxy's rules, which it writes once a second.
const drainTime = 6 * time.Second

const (
	// rounds is how often every worker of a target is replaced, each time under
	// at least so many requests.
	rounds   = 5
	requests = 10_000
	// rate is in requests a second.
	rate = 450
)

// TestRotation replaces every worker, by every source: nobody may notice.
func TestRotation(t *testing.T) {
	w := lab.Start(t)
	for _, kind := range lab.Sources {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			x := w.Target(t, lab.Options{Source: kind})
			x.Begin(rate)
			for round := range rounds {
				rotate(t, x)
				x.AwaitRequests((round + 1) * requests)
			}
			x.End()
			x.WantNoneLost()
			x.Report("rotation/"+kind, fmt.Sprintf("every worker is replaced, one after the other, %d times (SOURCE_KIND=%s)", rounds, kind),
				traffic.Fact{Name: "workers replaced", Value: fmt.Sprint(3 * rounds)})
		})
	}
}

// rotate replaces every worker, one after the other: a new one joins and is
// ready, then the old one is announced to leave, ends gracefully, and is gone.
func rotate(t *testing.T, x *lab.Target) {
	t.Helper()
	for _, old := range x.Workers() {
		replace(x, old, x.AddWorker())
	}
}

// replace replaces one worker.
func replace(x *lab.Target, old, fresh *lab.Worker) {
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

// pause lets the load go on.
func pause(d time.Duration) { <-time.After(d) }
