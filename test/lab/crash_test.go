//go:build lab

package lab_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// The promise for the default configuration: how long after a backend has died
// the last request that it costs begins, at the 95th percentile.
const (
	refusedBound = 2500 * time.Millisecond
	silentBound  = 5500 * time.Millisecond
)

// quietTime is how long nothing changes between two deaths: kube-proxy writes its
// rules once a second at most, and a change must not wait for the one before.
const quietTime = 1200 * time.Millisecond

// long asks for the long form of the scenarios.
func long() bool { return os.Getenv("LAB_LONG") != "" }

// beside lets a test that needs little of the machine run beside others that do, each with a
// world of its own. In the long form, which is measured, every test is alone.
func beside(t *testing.T) {
	t.Helper()
	if !long() {
		t.Parallel()
	}
}

// seeded returns the random numbers of a test and says what they came from:
// LAB_SEED repeats a run.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("LAB_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("LAB_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// deaths are how long after each death the last lost request began.
type deaths struct {
	refused, silent []time.Duration
}

// die lets one worker crash and falls another silent, and returns when both are
// out of the slice and kube-proxy has rested.
func (d *deaths) die(t *testing.T, x *lab.Target, crashing, falling *lab.Worker) {
	t.Helper()
	x.Mark("%s crashes", crashing.Name)
	crashed := crashing.Kill()
	// The two changes are apart and do not share kube-proxy's second.
	pause(600 * time.Millisecond)
	x.Mark("%s falls silent", falling.Name)
	fell := falling.Silence("both")
	x.AwaitState(crashing, "down")
	x.AwaitState(falling, "down")
	pause(quietTime)
	for _, death := range []struct {
		of      *lab.Worker
		at      time.Time
		failure string
		times   *[]time.Duration
	}{{crashing, crashed, "refused", &d.refused}, {falling, fell, "time-out", &d.silent}} {
		last, lost := x.LastLost(death.at, death.failure)
		if lost == 0 {
			t.Logf("%s cost no request", death.of.Name)
		}
		*death.times = append(*death.times, last)
	}
}

// facts are the distributions for the report.
func (d *deaths) facts() []traffic.Fact {
	return []traffic.Fact{{Name: "refused", Value: distribution(d.refused)}, {Name: "silent", Value: distribution(d.silent)}}
}

// distribution says after how long the last lost request began.
func distribution(times []time.Duration) string {
	return fmt.Sprintf("%d deaths, last lost after p50 %.2f s, p95 %.2f s, max %.2f s", len(times),
		traffic.Percentile(times, 50).Seconds(), traffic.Percentile(times, 95).Seconds(), traffic.Percentile(times, 100).Seconds())
}

func TestADeadBackendCostsRequestsForSecondsOnly(t *testing.T) {
	beside(t)
	w := lab.Start(t)
	random := seeded(t)
	t.Run("daemon", func(t *testing.T) {
		rounds := 20
		if long() {
			rounds = 100
		}
		daemonDeaths(t, w, random, rounds)
	})
	t.Run("beside", func(t *testing.T) {
		for _, scene := range []struct {
			name string
			play func(*testing.T, *lab.World, *rand.Rand)
		}{{"held", heldDeaths}, {"many", isolation}} {
			own := rand.New(rand.NewPCG(random.Uint64(), 0))
			t.Run(scene.name, func(t *testing.T) {
				if !long() {
					t.Parallel() // they share kube-proxy then
				}
				scene.play(t, w, own)
			})
		}
	})
	if long() { // a few rounds say nothing
		t.Run("poller", func(t *testing.T) { pollerDeaths(t, w, random, 20) })
	}
}

// daemonDeaths lets two workers of a large pool die in each round. They stay dead
// until too many are silent at once: then the daemon would rightly assume that its
// own network is at fault.
func daemonDeaths(t *testing.T, w *lab.World, random *rand.Rand, rounds int) {
	const pool = 44
	x := w.Target(t, lab.Options{Workers: pool, Env: map[string]string{"SOURCE_POLL_INTERVAL": "30s"}})
	x.Begin(300)
	var all deaths
	for done := 0; done < rounds; done += 20 {
		workers := x.Workers()
		random.Shuffle(pool, func(i, j int) { workers[i], workers[j] = workers[j], workers[i] })
		for i := range min(20, rounds-done) {
			pause(time.Duration(random.Int64N(int64(500 * time.Millisecond))))
			all.die(t, x, workers[2*i], workers[2*i+1])
		}
		for i := range min(20, rounds-done) {
			workers[2*i].Boot()
			workers[2*i+1].Hear()
		}
		x.AwaitAllReady()
		pause(quietTime)
	}
	x.End()
	allowance := lab.Allowance(x.Record())
	x.Report("crash/daemon", "in each round a backend crashes and another machine falls silent; default configuration", all.facts()...)
	t.Logf("refused: %s; silent: %s", distribution(all.refused), distribution(all.silent))
	t.Logf("requests begin %v late at the 99th percentile, so %v more is allowed", x.Record().Lateness(), allowance)
	if got, want := traffic.Percentile(all.refused, 95), refusedBound+allowance; got > want {
		t.Errorf("refused: got p95 %v, want at most %v", got, want)
	}
	if got, want := traffic.Percentile(all.silent, 95), silentBound+allowance; got > want {
		t.Errorf("silent: got p95 %v, want at most %v", got, want)
	}
}

// pollerDeaths does the same to the loop that the daemon is compared with, one
// death at a time: while one backend is silent the loop is late for all.
func pollerDeaths(t *testing.T, w *lab.World, random *rand.Rand, rounds int) {
	x := w.Target(t, lab.Options{Source: "static", Workers: 8, Program: w.Poller()})
	x.Begin(300)
	var all deaths
	for range rounds {
		victim := x.Workers()[random.IntN(8)]
		pause(time.Duration(random.Int64N(int64(5 * time.Second))))
		x.Mark("%s crashes", victim.Name)
		died := victim.Kill()
		x.AwaitState(victim, "")
		pause(quietTime)
		last, _ := x.LastLost(died, "refused")
		all.refused = append(all.refused, last)
		victim.Boot()
		x.AwaitState(victim, "ready")

		pause(time.Duration(random.Int64N(int64(5 * time.Second))))
		x.Mark("%s falls silent", victim.Name)
		died = victim.Silence("both")
		x.AwaitState(victim, "")
		pause(quietTime)
		last, _ = x.LastLost(died, "time-out")
		all.silent = append(all.silent, last)
		victim.Hear()
		x.AwaitState(victim, "ready")
	}
	x.End()
	x.Report("crash/poller", "the same for a loop that polls every 5 s with a time-out of 3 s and writes with kubectl", all.facts()...)
}
