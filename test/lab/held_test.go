//go:build lab

package lab_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// holding is what a daemon needs to hold a connection to each backend.
var holding = map[string]string{"HEALTH_CHECK_HOLD_CONNECTION": "true"}

// cost is what deaths of one kind came to.
type cost struct {
	// slices is after how long each death was published, traffic after how long
	// the last request that it cost began.
	slices, traffic []time.Duration
	lost            int
}

// add notes the deaths of some workers at the same moment: they are published
// when the last of them is, and kube-proxy has rested after that.
func (c *cost) add(x *lab.Target, died time.Time, failure string, workers ...*lab.Worker) {
	for _, w := range workers {
		x.AwaitState(w, "down")
	}
	c.slices = append(c.slices, time.Since(died))
	pause(quietTime)
	last, lost := x.LastLost(died, failure)
	c.traffic = append(c.traffic, last)
	c.lost += lost
}

func (c *cost) fact(name string) traffic.Fact {
	seconds := func(of []time.Duration) string {
		return fmt.Sprintf("p50 %.2f s, p95 %.2f s", traffic.Percentile(of, 50).Seconds(), traffic.Percentile(of, 95).Seconds())
	}
	return traffic.Fact{Name: name, Value: fmt.Sprintf("%d times, in the slices after %s, last lost after %s, lost %d",
		len(c.slices), seconds(c.slices), seconds(c.traffic), c.lost)}
}

// costs are the costs of each way to die: one backend refuses, half of six do at
// once, one machine is silent.
type costs struct{ refused, half, silent cost }

// heldDeaths compares deaths with connections held and without. In the short form
// both targets share a kube-proxy at the same time, which writes its rules once a
// second at most; so only what is in the slices is compared.
func heldDeaths(t *testing.T, w *lab.World, random *rand.Rand) {
	all := map[bool]*costs{true: {}, false: {}}
	var mu sync.Mutex // random
	t.Run("both", func(t *testing.T) {
		for held, costs := range all {
			name, env := "without", map[string]string(nil)
			if held {
				name, env = "held", holding
			}
			t.Run(name, func(t *testing.T) {
				if !long() {
					t.Parallel()
				}
				mu.Lock()
				own := rand.New(rand.NewPCG(random.Uint64(), 0))
				mu.Unlock()
				costs.die(t, w.Target(t, lab.Options{Workers: 6, Env: env}), own, held)
			})
		}
	})
	if t.Failed() {
		return
	}
	held, without := all[true].crashes(), all[false].crashes()
	if len(held) == 0 || len(without) == 0 {
		return // -run left one of them out
	}
	if got, want := mean(held), mean(without); got >= want {
		t.Errorf("got a mean of %v until a crash was published with connections held and %v without, want it faster", got, want)
	}
}

// crashes is after how long each crash was published: of one backend and of half.
func (c *costs) crashes() []time.Duration {
	return append(slices.Clone(c.refused.slices), c.half.slices...)
}

// mean is the mean of some times. A few crashes are too few for a median of each kind:
// without held connections one may be found as early by luck.
func mean(times []time.Duration) time.Duration {
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	return sum / time.Duration(len(times))
}

// die lets workers die in each way and reports what it cost.
func (c *costs) die(t *testing.T, x *lab.Target, random *rand.Rand, held bool) {
	singles, halves, silences := 4, 2, 0
	if held {
		silences = 1 // a held connection does not report it any earlier
	}
	if long() {
		singles, halves, silences = 20, 20, 20
	}
	x.Begin(300)
	if held {
		x.AwaitHeld()
	}
	for done := 0; done < singles; done += 4 {
		for _, worker := range drawn(x, random, 4) {
			pause(time.Duration(random.Int64N(int64(500 * time.Millisecond))))
			x.Mark("%s crashes", worker.Name)
			died := worker.Kill()
			c.refused.add(x, died, "refused", worker)
		}
		revive(x, held)
	}
	for range halves {
		dying := drawn(x, random, 3)
		x.Mark("half of six crash")
		c.half.add(x, together(dying), "refused", dying...)
		revive(x, held)
	}
	for range silences {
		worker := drawn(x, random, 1)[0]
		x.Mark("%s falls silent", worker.Name)
		c.silent.add(x, worker.Silence("both"), "time-out", worker)
		worker.Hear()
		x.AwaitAllReady()
	}
	if confirmed := x.Daemon.Metric("ionos_endpointslice_connections_lost_confirmed_total"); held && int(confirmed) < singles+3*halves {
		t.Errorf("got %v confirmed alarms, want one for each of the %d crashes", confirmed, singles+3*halves)
	}
	x.End()
	facts := []traffic.Fact{c.refused.fact("one refuses"), c.half.fact("half of six refuse")}
	if silences > 0 {
		facts = append(facts, c.silent.fact("one is silent"))
	}
	for _, f := range facts {
		t.Logf("%s: %s", f.Name, f.Value)
	}
	name, text := "crash/without held connections", "backends crash one by one and half at once, a machine falls silent"
	if held {
		name, text = "crash/held connections", "the same with HEALTH_CHECK_HOLD_CONNECTION"
	}
	x.Report(name, text, facts...)
}

// drawn are some of the workers.
func drawn(x *lab.Target, random *rand.Rand, n int) []*lab.Worker {
	workers := x.Workers()
	random.Shuffle(len(workers), func(i, j int) { workers[i], workers[j] = workers[j], workers[i] })
	return workers[:n]
}

// together ends workers at the same moment, which it returns.
func together(workers []*lab.Worker) time.Time {
	at := time.Now()
	var ended sync.WaitGroup
	for _, w := range workers {
		ended.Go(func() { w.Kill() })
	}
	ended.Wait()
	return at
}

// revive starts what has ended and waits until all is as before and kube-proxy has
// rested: it writes its rules once a second at most, so a death within a second of
// the write that brought a backend back would be kube-proxy's time and not ours.
func revive(x *lab.Target, held bool) {
	for _, w := range x.Workers() {
		if w.Ended() {
			w.Boot()
		}
	}
	x.AwaitAllReady()
	if held {
		x.AwaitHeld()
	}
	pause(quietTime)
}
