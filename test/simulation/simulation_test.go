//go:build simulation

package simulation_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

var (
	oneSeed  = flag.Uint64("seed", 0, "simulate this seed alone")
	seeds    = flag.Uint64("seeds", 25, "how many seeds to simulate")
	first    = flag.Uint64("first", 1, "the first of the seeds")
	days     = flag.Uint64("days", 1, "how many seeds to simulate for a day each")
	storming = flag.Duration("storm", 10*time.Minute, "how long each storm lasts in simulated time")
	verbose  = flag.Bool("counts", false, "say of each seed what happened")
	lines    = flag.Int("lines", 60, "how many events before a failure to print")
)

// tick is the simulated time between two looks at the whole world.
const tick = 250 * time.Millisecond

func TestStormBreaksNoPromiseOfTheContract(t *testing.T) {
	if *oneSeed != 0 {
		weather(t, *oneSeed, 1)
		return
	}
	inProcesses(t, *first, *seeds, 50)
}

func TestADayOfStormBreaksNoPromiseOfTheContract(t *testing.T) {
	*storming = 24 * time.Hour
	inProcesses(t, *first, *days, 1)
}

// weather simulates so many seeds, one after the other.
func weather(t *testing.T, from, count uint64) {
	t.Helper()
	bubble.Alone(t)
	for seed := from; seed < from+count; seed++ {
		w := simulate(t, seed)
		if broken := w.failed(); broken != "" {
			t.Errorf("seed %d: %s\n%s\nto replay: make simulate SEED=%d STORM=%s", seed, broken, w.story(*lines), seed, *storming)
		}
	}
}

// simulate lets one world pass, and returns it as it ended.
func simulate(t *testing.T, seed uint64) *world {
	t.Helper()
	var w *world
	atFirst := alive()
	bubble.Test(t, func(t *testing.T) {
		var err error
		if w, err = newWorld(seed, *storming); err != nil {
			t.Fatal(err)
		}
		w.atFirst = atFirst
		w.storm(t)
		if w.failed() == "" {
			w.becomeCalm(t)
		}
		w.checkMemory()
		w.end()
		if w.pair != nil {
			w.pair.running.Wait()
		}
	})
	if *verbose {
		t.Logf("seed %d: %+v: %s, %d writes, %d processes, %d KiB more, %v", seed, w.set, w.passed, w.writes, w.started, w.grown>>10, w.counts)
	}
	return w
}

// storm lets things happen until its time is over.
func (w *world) storm(t *testing.T) {
	t.Helper()
	r := w.dice("storm", 0)
	w.acts = w.script()
	next := time.Now().Add(w.wait(r))
	for end := w.start.Add(w.set.storm); time.Now().Before(end) && w.failed() == ""; {
		w.look(t)
		w.steps++
		bubble.Tidy(w.steps)
		pause := min(tick, time.Until(next))
		time.Sleep(max(pause, time.Nanosecond))
		synctest.Wait()
		if time.Now().Before(next) {
			continue
		}
		w.mu.Lock()
		w.happen(r)
		w.mu.Unlock()
		next = time.Now().Add(w.wait(r))
	}
}

// wait draws how long until the next thing happens: now and then at once.
func (w *world) wait(r *rand.Rand) time.Duration {
	if w.set.scene != "" {
		return w.untilAct()
	}
	if r.IntN(5) == 0 {
		return time.Duration(r.Int64N(int64(100 * time.Millisecond)))
	}
	return time.Duration(r.ExpFloat64() * float64(w.set.gap))
}

// look ends what is due, and checks what must hold at any time.
func (w *world) look(t *testing.T) {
	t.Helper()
	w.part()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.mend(); err != nil {
		t.Fatal(err)
	}
	w.step()
}

// part waits an odd time where two processes run: if they began at the same instant,
// or whole ticks apart, they would check at the same instants.
func (w *world) part() {
	if w.set.forced {
		time.Sleep(odd(w.odd))
		synctest.Wait()
	}
}

// becomeCalm ends the storm: the slices become right, and writing stops.
func (w *world) becomeCalm(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	w.calm()
	w.mu.Unlock()
	end, right := time.Now().Add(w.waitTimeout()), time.Now()
	for time.Now().Before(end) && time.Since(right) < w.settling() && w.failed() == "" {
		w.look(t)
		time.Sleep(4 * tick)
		synctest.Wait()
		if !w.isRight() {
			right = time.Now()
		}
	}
	if w.failed() != "" {
		return
	}
	w.mu.Lock()
	w.checkRight(w.breach)
	w.note("right, as it should be")
	before := w.writes
	w.mu.Unlock()
	time.Sleep(max(10*time.Minute, w.set.storm/10))
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checkRight(w.breach)
	for _, p := range []*process{w.daemon, w.second} {
		if p != nil {
			p.checkErrors()
		}
	}
	if w.writes != before {
		w.breach(22, "%d writes in the calm", w.writes-before)
	}
	w.passed = time.Since(w.start)
}
