//go:build lab

package lab_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// soakTime is how long the soak lasts where LAB_DURATION says nothing else.
const soakTime = 50 * time.Second

// TestSoak breaks and replaces one thing after the other around one daemon, as fast
// as it gets over them, and looks for what grows (contract 33).
//
// A program that loses one goroutine, descriptor or connection for each fault has as
// many too many at the end as there were faults. So the test compares the daemon at
// rest after all faults with the daemon at rest before them. Only memory is judged by
// its trend, because the garbage collector gives it back at any time.
func TestSoak(t *testing.T) {
	beside(t)
	w := lab.Start(t)
	length := soakTime
	if text := os.Getenv("LAB_DURATION"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	x := w.Target(t, lab.Options{Source: "kubernetes", Workers: 4, Env: map[string]string{"DRAIN_PERIOD": "2s", "SOURCE_POLL_INTERVAL": "1s"}})
	x.Begin(100)
	random := seeded(t)
	storm(w, x, random, 2) // the first faults make what stays: connections, buffers
	before := rested(x)
	watch := x.Daemon.Watch(max(length/200, 500*time.Millisecond))
	steps := 0
	for end := time.Now().Add(length); time.Now().Before(end); steps++ {
		storm(w, x, random, 1)
	}
	watch.Stop()
	after := rested(x)
	x.End()
	judge(t, before, after, watch, steps)
	wantLostOnlyAfterDeaths(t, x)
	last := watch.Quarter(3)
	x.ReportSeries("soak/"+length.String(), "faults of every kind and replaced workers, one after the other without a pause", watch.Series(),
		traffic.Fact{Name: "faults and replaced workers", Value: fmt.Sprint(steps)},
		traffic.Fact{Name: "at rest before and after: goroutines", Value: fmt.Sprintf("%.0f, %.0f", before.Goroutines, after.Goroutines)},
		traffic.Fact{Name: "descriptors", Value: fmt.Sprintf("%.0f, %.0f", before.Descriptors, after.Descriptors)},
		traffic.Fact{Name: "resident memory, median of the second and the last quarter", Value: fmt.Sprintf("%.1f MiB, %.1f MiB", watch.Quarter(1).Memory, last.Memory)},
		traffic.Fact{Name: "API requests in them", Value: fmt.Sprintf("%.0f, %.0f", watch.Quarter(1).Requests, last.Requests)})
}

// judge compares.
func judge(t *testing.T, before, after lab.Sample, watch *lab.Samples, steps int) {
	t.Helper()
	// A connection to an API server more or less has two goroutines and one
	// descriptor; there are two servers, and an idle connection may linger.
	const goroutines, descriptors = 8, 4
	if after.Goroutines > before.Goroutines+goroutines || after.Descriptors > before.Descriptors+descriptors {
		t.Errorf("at rest after %d steps: got %.0f goroutines and %.0f descriptors, before them %.0f and %.0f, want no more than %d and %d beyond",
			steps, after.Goroutines, after.Descriptors, before.Goroutines, before.Descriptors, goroutines, descriptors)
	}
	// The garbage collector lets the heap grow to twice what is in use, about 5 MiB.
	// That growth is not a trend.
	const memory = 6 // MiB
	if second, last := watch.Quarter(1), watch.Quarter(3); last.Memory > second.Memory*1.1+memory {
		t.Errorf("resident memory: got %.1f MiB in the last quarter, %.1f MiB in the second", last.Memory, second.Memory)
	}
	// What a step costs depends on which it is, so the quarters differ by chance.
	if second, last := watch.Quarter(1), watch.Quarter(3); last.Requests > 2*second.Requests+100 {
		t.Errorf("requests to API servers: got %.0f in the last quarter, %.0f in the second", last.Requests, second.Requests)
	}
}

// wantLostOnlyAfterDeaths checks that each lost request began soon after a
// worker had died: no other fault may cost any.
func wantLostOnlyAfterDeaths(t *testing.T, x *lab.Target) {
	t.Helper()
	for _, lost := range x.Record().Lost() {
		excused := slices.ContainsFunc(x.Record().Marks(), func(m traffic.Mark) bool {
			// One that was sent up to its time-out before may lose its backend.
			after := lost.Start.Sub(m.At)
			return (m.Text == "crash" || m.Text == "unplug") && after > -traffic.Timeout && after < outOfUse(x, m)
		})
		if !excused {
			t.Errorf("a request is lost although no backend has just died: %s, %s after %v", lost.Start.Format("15:04:05.000"), lost.Failure, lost.Took)
			x.WantNoneLost() // shows the marks
			return
		}
	}
}

// rested returns what the daemon holds when nothing has happened for a while.
func rested(x *lab.Target) lab.Sample {
	x.Mark("rest")
	pause(5 * time.Second)
	return x.Daemon.Sample()
}

// storm lets so many things happen, each of which ends with everything in order.
func storm(w *lab.World, x *lab.Target, random *rand.Rand, count int) {
	faults := []func(*lab.World, *lab.Target, *lab.Worker){
		renew, renew, crash, crash, unplug, blind, loseRemote, pauseLocal, loseLocal,
	}
	for range count {
		faults[random.IntN(len(faults))](w, x, x.Workers()[random.IntN(4)])
		for _, worker := range x.Workers() {
			x.AwaitState(worker, "ready")
		}
	}
}

// renew replaces a worker, which ends when it is out of the slice and gets no request
// any more: kube-proxy may be late with a drain of 2 s when it has just got over a fault.
func renew(_ *lab.World, x *lab.Target, old *lab.Worker) {
	fresh := x.AddWorker()
	x.Mark("%s for %s", fresh.Name, old.Name)
	x.Join(fresh)
	x.AwaitAnswers(fresh)
	x.Leave(old)
	x.AwaitNoAnswers(old)
	x.AwaitState(old, "")
	x.Gone(old)
	old.Remove()
}

func crash(_ *lab.World, x *lab.Target, worker *lab.Worker) {
	x.Mark("crash")
	worker.Kill()
	x.AwaitState(worker, "down")
	worker.Boot()
}

func unplug(_ *lab.World, x *lab.Target, worker *lab.Worker) {
	x.Mark("unplug")
	worker.Unplug()
	x.AwaitState(worker, "down")
	worker.Plug()
}

func blind(_ *lab.World, x *lab.Target, _ *lab.Worker) {
	x.Mark("prober cut off")
	x.CutProber()
	pause(3 * time.Second)
	x.MendProber()
}

func loseRemote(w *lab.World, x *lab.Target, _ *lab.Worker) {
	x.Mark("remote API server restarts")
	w.Remote.Stop()
	pause(time.Second)
	w.Remote.Start()
}

func pauseLocal(w *lab.World, x *lab.Target, _ *lab.Worker) {
	x.Mark("local API server hangs")
	w.Local.Pause()
	pause(2 * time.Second)
	w.Local.Resume()
}

// loseLocal restarts what kube-proxy watches, too, which would back off after that for longer than
// anything else here takes. A new worker that answers shows that a new one is there.
func loseLocal(w *lab.World, x *lab.Target, old *lab.Worker) {
	x.Mark("local API server restarts")
	w.Local.Stop()
	pause(time.Second)
	w.Local.Start()
	w.RestartProxy()
	renew(w, x, old)
}

// outOfUse is after how long a dead backend is out of use: FALL intervals later
// where the prober has just been cut off, because silence takes nothing down so long.
func outOfUse(x *lab.Target, death traffic.Mark) time.Duration {
	const fallIntervals = 6 * time.Second
	cutOff := slices.ContainsFunc(x.Record().Marks(), func(m traffic.Mark) bool {
		before := death.At.Sub(m.At)
		return m.Text == "prober cut off" && before >= 0 && before < oneSilence+fallIntervals
	})
	if cutOff {
		return oneSilence + fallIntervals
	}
	return oneSilence
}
