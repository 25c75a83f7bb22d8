//go:build lab

package lab_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// manyRate is how many requests a second each of ten Services gets.
func manyRate() int {
	if long() {
		return 100
	}
	return 40
}

// tenRotate replaces every worker of two clusters at the same time, under requests to ten
// Services, two of which have workers of both.
func tenRotate(t *testing.T, w *lab.World) {
	p := w.Platform(t, lab.PlatformOptions{
		Pools: []lab.PoolOptions{{Name: "blue", Source: "kubernetes", Workers: 3}, {Name: "green", Source: "file", Workers: 3}},
		Services: [][]string{
			{"blue"}, {"blue"}, {"blue"}, {"blue"}, {"green"}, {"green"}, {"green"}, {"green"}, {"blue", "green"}, {"blue", "green"},
		},
	})
	p.Begin(manyRate())
	told := make([][]time.Duration, len(p.Pools))
	var rotations sync.WaitGroup
	for i, pool := range p.Pools {
		rotations.Go(func() {
			for _, old := range pool.Workers() {
				told[i] = append(told[i], replaceIn(pool.Inventory, pool.Services, old, pool.AddWorker()))
			}
		})
	}
	rotations.Wait()
	for _, x := range p.Services {
		x.End()
		x.WantNoneLost()
	}
	if t.Failed() {
		t.Log(p.Daemon.Log())
	}
	all := slices.Concat(told...)
	p.Together(p.Services...).Report("many/rotation", "one daemon fills ten Services, two of them from two pools; every worker of both clusters is replaced at the same time",
		traffic.Fact{Name: "workers replaced", Value: fmt.Sprint(len(all))},
		traffic.Fact{Name: "from the announcement to the slices of all Services of the pool", Value: fmt.Sprintf("median %v, at most %v",
			traffic.Percentile(all, 50).Round(time.Millisecond), traffic.Percentile(all, 100).Round(time.Millisecond))})
}

// apart is one daemon with three pools, of which all goes wrong around the first.
type apart struct {
	*testing.T
	*lab.Platform
	changes *lab.Changes
	random  *rand.Rand
	// steady has nothing to do with what goes wrong. One pool's API hangs, the inventory
	// of one turns empty.
	steady, hangs, turnsEmpty *lab.Pool
	// doomed is the Service whose namespace is deleted, others are those of which no
	// figure may change, bystanders those that no worker leaves.
	doomed             *lab.Target
	others, bystanders []*lab.Target
}

// newApart makes the platform, with requests to all Services.
func newApart(t *testing.T, w *lab.World, random *rand.Rand) *apart {
	t.Helper()
	s := &apart{T: t, random: random, changes: w.Watch(t)}
	// With a connection held to each worker a death is in the slices after two intervals
	// of the quick checks: whatever takes a tenth longer shows.
	s.Platform = w.Platform(t, lab.PlatformOptions{
		Pools: []lab.PoolOptions{
			{Name: "steady", Source: "file", Workers: 6, Spec: "healthCheck: {holdConnection: true}"},
			{Name: "hangs", Source: "kubernetes", Workers: 3}, {Name: "empty", Source: "file", Workers: 3},
		},
		Services: [][]string{
			{"steady"}, {"steady"}, {"steady"}, {"steady"}, {"steady", "hangs"}, {"steady", "empty"}, {"steady"}, {"hangs"}, {"hangs"}, {"empty"},
		},
	})
	s.steady, s.hangs, s.turnsEmpty = s.Pool("steady"), s.Pool("hangs"), s.Pool("empty")
	s.others, s.doomed, s.bystanders = s.Services[:6], s.Services[6], s.Services[7:]
	s.Begin(manyRate())
	return s
}

// isolation compares how long dead backends of a pool cost requests while other pools and
// a namespace are in trouble with how long they do before.
func isolation(t *testing.T, w *lab.World, random *rand.Rand) {
	rounds := 1
	if long() {
		rounds = 5
	}
	s := newApart(t, w, random)
	var before, meanwhile cost
	s.deaths(&before, rounds)
	untouched := s.trouble()
	s.deaths(&meanwhile, rounds)
	for _, x := range s.Services {
		if x != s.doomed {
			x.End()
		}
	}
	for i, x := range s.bystanders {
		x.WantNoneLost()
		if got := x.States(); !maps.Equal(got, untouched[i]) {
			t.Errorf("%s publishes %v, want what it did before the trouble: %v", x.Name, got, untouched[i])
		}
	}
	s.compare(&before, &meanwhile)
	if t.Failed() {
		t.Log(s.Daemon.Log())
	}
	s.Together(s.others...).Report("many/isolation",
		"of ten Services of one daemon the six with workers of one pool, which hold connections; workers of it crash, first while nothing else happens, then while the API of another pool hangs, the inventory of a third is empty and the namespace of a seventh Service is deleted",
		s.fact("before", &before), s.fact("meanwhile", &meanwhile))
}

// deaths lets four workers of the steady pool crash in each round, one after the other.
func (s *apart) deaths(c *cost, rounds int) {
	s.Helper()
	for range rounds {
		workers := s.steady.Workers()
		s.random.Shuffle(len(workers), func(i, j int) { workers[i], workers[j] = workers[j], workers[i] })
		workers = workers[:4]
		s.AwaitHeld(s.steady)
		pause(quietTime)
		for _, worker := range workers {
			pause(time.Duration(s.random.Int64N(int64(500 * time.Millisecond))))
			s.dies(c, worker)
		}
		for _, worker := range workers {
			worker.Boot()
		}
		for _, x := range s.others {
			for _, worker := range workers {
				s.changes.AwaitState(x, worker, "ready")
			}
		}
	}
}

// dies lets a worker crash, and notes when each Service says so and what it costs.
func (s *apart) dies(c *cost, worker *lab.Worker) {
	s.Helper()
	s.others[0].Mark("%s crashes", worker.Name)
	died := worker.Kill()
	for _, x := range s.others {
		c.slices = append(c.slices, s.changes.AwaitState(x, worker, "down").Sub(died))
	}
	pause(quietTime)
	latest := time.Duration(0)
	for _, x := range s.others {
		last, lost := x.LastLost(died, "refused")
		latest = max(latest, last)
		c.lost += lost
	}
	c.traffic = append(c.traffic, latest)
}

// trouble begins all that goes wrong, and returns what the bystanders published before.
func (s *apart) trouble() (untouched []map[netip.Addr]string) {
	s.Helper()
	for _, x := range s.bystanders {
		untouched = append(untouched, x.States())
	}
	s.others[0].Mark("an API hangs, an inventory is empty, a namespace is deleted")
	s.hangs.API.Swallow()
	s.turnsEmpty.Replace()
	s.doomed.End()
	s.doomed.DeleteNamespace()
	s.Daemon.AwaitLogged("mode changed", "NoNodes")
	return untouched
}

// compare fails the test when deaths cost more meanwhile than before by more than a tenth
// and 20 ms. A busy machine adds to that how late requests begin: once to the median,
// more to the slowest. And kube-proxy writes its rules once a second at most: when another
// scenario has just changed them, the last lost request is a second later. Only the long
// form, which runs alone, resolves that.
func (s *apart) compare(before, meanwhile *cost) {
	s.Helper()
	record, proxy := s.others[0].Record(), time.Second
	if long() {
		proxy = 0
	}
	inSlices := func(c *cost) []time.Duration { return c.slices }
	lost := func(c *cost) []time.Duration { return c.traffic }
	for _, figure := range []struct {
		name    string
		of      func(*cost) []time.Duration
		percent int
		also    time.Duration
	}{
		{"in the slices", inSlices, 50, record.Lateness()},
		{"in the slices", inSlices, 95, lab.Allowance(record)},
		{"last lost", lost, 50, lab.Allowance(record) + proxy},
	} {
		got, want := traffic.Percentile(figure.of(meanwhile), figure.percent), traffic.Percentile(figure.of(before), figure.percent)
		if bound := want + want/10 + 20*time.Millisecond + figure.also; got > bound {
			s.Errorf("%s, p%d: got %v while there was trouble elsewhere and %v before, want at most %v", figure.name, figure.percent, got, want, bound)
		}
	}
}

func (s *apart) fact(name string, c *cost) traffic.Fact {
	ms := func(of []time.Duration) string {
		return fmt.Sprintf("p50 %d ms, p95 %d ms", traffic.Percentile(of, 50).Milliseconds(), traffic.Percentile(of, 95).Milliseconds())
	}
	f := traffic.Fact{Name: name, Value: fmt.Sprintf("%d deaths, in the slices of %d Services after %s, last lost after %s, lost %d",
		len(c.traffic), len(s.others), ms(c.slices), ms(c.traffic), c.lost)}
	s.Logf("%s: %s", f.Name, f.Value)
	return f
}
