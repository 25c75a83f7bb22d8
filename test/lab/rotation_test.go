//go:build lab

package lab_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

const (
	// rounds is how often every worker of a target is replaced, each time under
	// at least so many requests.
	rounds   = 5
	requests = 10_000
	// rate is in requests a second.
	rate = 450
)

// TestRotation replaces every worker, by every source: no client may notice.
func TestRotation(t *testing.T) {
	w := lab.Start(t)
	for _, kind := range lab.Sources {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			x := w.Target(t, lab.Options{Source: kind})
			x.Begin(rate)
			var told []time.Duration
			for round := range rounds {
				told = append(told, rotate(t, x)...)
				x.AwaitRequests((round + 1) * requests)
			}
			x.End()
			x.WantNoneLost()
			x.Report("rotation/"+kind, fmt.Sprintf("every worker is replaced, one after the other, %d times (SOURCE_KIND=%s)", rounds, kind),
				traffic.Fact{Name: "workers replaced", Value: fmt.Sprint(len(told))},
				traffic.Fact{Name: "from the announcement to the slice", Value: fmt.Sprintf("median %v, at most %v",
					traffic.Percentile(told, 50).Round(time.Millisecond), slices.Max(told).Round(time.Millisecond))})
		})
	}
}

// rotate replaces every worker, one after the other: a new one joins and is
// ready, then the old one is announced to leave, ends gracefully, and is gone.
// It returns how long each announcement took to reach the slice.
func rotate(t *testing.T, x *lab.Target) []time.Duration {
	t.Helper()
	var told []time.Duration
	for _, old := range x.Workers() {
		told = append(told, replace(x, old, x.AddWorker()))
	}
	return told
}

// replace replaces one worker, and returns how long it took from the announcement
// to the slice.
func replace(x *lab.Target, old, fresh *lab.Worker) (told time.Duration) {
	return replaceIn(x.Inventory, []*lab.Target{x}, old, fresh)
}

// replaceIn replaces one worker of an inventory that fills several Services, and returns
// how long it took from the announcement to the last slice.
func replaceIn(i *lab.Inventory, services []*lab.Target, old, fresh *lab.Worker) (told time.Duration) {
	services[0].Mark("%s joins", fresh.Name)
	i.Join(fresh)
	for _, x := range services {
		x.AwaitState(fresh, "ready")
	}
	services[0].Mark("%s leaves", old.Name)
	announced := time.Now()
	i.Leave(old)
	for _, x := range services {
		x.AwaitState(old, "draining")
	}
	told = time.Since(announced)
	for _, x := range services {
		x.AwaitNoAnswers(old) // a real node drains for minutes
	}
	services[0].Mark("%s is gone", old.Name)
	old.Stop()
	old.Remove()
	i.Gone(old)
	return told
}

// pause lets the load go on.
func pause(d time.Duration) { <-time.After(d) }
