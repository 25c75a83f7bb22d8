//go:build lab

package lab_test

import (
	"fmt"
	"math"
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

// way is how a target sees deaths: with connections held or without, by one replica or by two.
type way struct{ held, replicas bool }

// ways are all of them.
var ways = map[string]way{"without": {}, "held": {held: true}, "replicas": {replicas: true}, "held replicas": {held: true, replicas: true}}

// target makes one with six workers that sees deaths in that way.
func (w way) target(t *testing.T, world *lab.World) *lab.Target {
	options := lab.Options{Workers: 6}
	if w.held {
		options.Env = holding
	}
	if !w.replicas {
		return world.Target(t, options)
	}
	x, _, _ := world.Replicas(t, options)
	return x
}

// heldDeaths compares deaths with connections held and without, and of each with one replica
// and with two, which see the same. In the short form all targets share a kube-proxy at the
// same time, which writes its rules once a second at most; so only what is in the slices is
// compared.
func heldDeaths(t *testing.T, w *lab.World, random *rand.Rand) {
	all := map[way]*costs{}
	var mu sync.Mutex // random
	t.Run("both", func(t *testing.T) {
		for name, way := range ways {
			costs := &costs{}
			all[way] = costs
			t.Run(name, func(t *testing.T) {
				if !long() {
					t.Parallel()
				}
				mu.Lock()
				own := rand.New(rand.NewPCG(random.Uint64(), 0))
				mu.Unlock()
				costs.die(t, way.target(t, w), own, way)
			})
		}
	})
	if t.Failed() {
		return
	}
	if slower := ratio(all[way{}], all[way{held: true}], (*costs).crashes); slower > 0 && slower <= 1 {
		t.Errorf("crashes were published as late with connections held: %.2f times without", slower)
	}
	for _, held := range []bool{false, true} {
		one, two := all[way{held: held}], all[way{held: held, replicas: true}]
		for what, times := range map[string]func(*costs) []time.Duration{"crashes": (*costs).crashes, "silence": (*costs).silences} {
			t.Logf("%s, held %v: with two replicas %.2f times as late as with one", what, held, ratio(two, one, times))
			if long() && later(times(two), times(one)) {
				t.Errorf("%s, held %v: with two replicas %.2f times as late as with one, want %v at most", what, held, ratio(two, one, times), replicasBound)
			}
		}
	}
}

// replicasBound is how much later a death may be published by two replicas than by one, in the
// mean. A few deaths say nothing: when a check looks next decides.
const replicasBound = 1.05

// later reports whether times are above the bound by more than twice the standard error.
func later(two, one []time.Duration) bool {
	if len(two) < 2 || len(one) < 2 {
		return false
	}
	above := mean(two).Seconds() - replicasBound*mean(one).Seconds()
	return above > 2*math.Hypot(standardError(two), replicasBound*standardError(one))
}

// standardError is that of the mean, in seconds.
func standardError(times []time.Duration) float64 {
	sum, middle := 0.0, mean(times).Seconds()
	for _, t := range times {
		sum += (t.Seconds() - middle) * (t.Seconds() - middle)
	}
	n := float64(len(times))
	return math.Sqrt(sum / (n - 1) / n)
}

// ratio compares the means of times of two ways, 0 where -run left one of them out.
func ratio(a, b *costs, times func(*costs) []time.Duration) float64 {
	if len(times(a)) == 0 || len(times(b)) == 0 {
		return 0
	}
	return mean(times(a)).Seconds() / mean(times(b)).Seconds()
}

// crashes is after how long each crash was published: of one backend and of half.
func (c *costs) crashes() []time.Duration {
	return append(slices.Clone(c.refused.slices), c.half.slices...)
}

// silences is after how long each silence was published.
func (c *costs) silences() []time.Duration { return c.silent.slices }

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
func (c *costs) die(t *testing.T, x *lab.Target, random *rand.Rand, how way) {
	held := how.held
	singles, halves, silences := 4, 2, 0
	if held {
		silences = 1 // a held connection does not report it any earlier
	}
	if long() {
		singles, halves, silences = 20, 20, 20
	}
	x.Begin(150)
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
	// A backend that is being killed may close its connections a moment before it stops listening. A check
	// between the two passes.
	if confirmed, crashes := int(x.Daemon.Metric("ionos_endpointslice_connections_lost_confirmed_total")), singles+3*halves; held && confirmed < crashes*4/5 {
		t.Errorf("got %d confirmed alarms of %d crashes, want four of five", confirmed, crashes)
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
	if how.replicas {
		name, text = name+", two replicas", text+", with two replicas"
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
