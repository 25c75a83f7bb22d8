//go:build simulation

package simulation_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	oneSeed  = flag.Uint64("seed", 0, "simulate this seed alone")
	seeds    = flag.Uint64("seeds", 24, "how many seeds to simulate; a quarter of them with -short")
	first    = flag.Uint64("first", 1, "the first of the seeds")
	tries    = flag.Int("tries", 1, "how often to simulate each seed")
	storming = flag.Duration("storm", 10*time.Minute, "how long each storm lasts in simulated time")
	lines    = flag.Int("trace", 60, "how many events before a failure to print")
)

// tick is the simulated time between two looks at the whole world.
const tick = 250 * time.Millisecond

func TestStormBreaksNoPromiseOfTheContract(t *testing.T) {
	from, to := *first, *first+*seeds
	if testing.Short() {
		to = *first + max(1, *seeds/4)
	}
	if *oneSeed != 0 {
		from, to = *oneSeed, *oneSeed+1
	}
	for seed := from; seed < to; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			for range *tries {
				synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
			}
		})
	}
}

// simulate lets one world pass, and fails with the end of its trace.
func simulate(t *testing.T, seed uint64) {
	t.Helper()
	w, err := newWorld(seed, *storming)
	if err != nil {
		t.Fatal(err)
	}
	w.storm(t)
	if w.failed() == "" {
		w.becomeCalm(t)
	}
	w.mu.Lock()
	p := w.halt(false)
	w.mu.Unlock()
	if p != nil {
		<-p.done
	}
	if broken := w.failed(); broken != "" {
		end := max(0, len(w.trace)-*lines)
		t.Errorf("seed %d: %s\n%s\nto replay: go test -tags simulation ./test/simulation -run Storm -seed %d -storm %s -tries 5",
			seed, broken, strings.Join(w.trace[end:], "\n"), seed, *storming)
	}
	t.Logf("%+v: %d writes, %d processes, %v", w.set, w.writes, w.started, w.counts)
}

// storm lets things happen until its time is over.
func (w *world) storm(t *testing.T) {
	t.Helper()
	r := w.dice("storm", 0)
	next := time.Now().Add(w.wait(r))
	for end := w.start.Add(w.set.storm); time.Now().Before(end) && w.failed() == ""; {
		w.look(t)
		pause := min(tick, time.Until(next))
		time.Sleep(max(pause, time.Nanosecond))
		synctest.Wait()
		if time.Now().Before(next) {
			continue
		}
		w.mu.Lock()
		w.strike(r)
		w.mu.Unlock()
		next = time.Now().Add(w.wait(r))
	}
}

// wait draws how long until the next thing happens: now and then at once.
func (w *world) wait(r *rand.Rand) time.Duration {
	if r.IntN(5) == 0 {
		return time.Duration(r.Int64N(int64(100 * time.Millisecond)))
	}
	return time.Duration(r.ExpFloat64() * float64(w.set.gap))
}

// look mends what is due, and checks what has to hold at any time.
func (w *world) look(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.mend(); err != nil {
		t.Fatal(err)
	}
	w.step()
}

// becomeCalm ends the storm: the slices become right, and writing stops.
func (w *world) becomeCalm(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	w.calm()
	w.mu.Unlock()
	for end := time.Now().Add(w.patience()); time.Now().Before(end) && w.failed() == ""; {
		w.look(t)
		time.Sleep(4 * tick)
		synctest.Wait()
	}
	if w.failed() != "" {
		return
	}
	w.mu.Lock()
	w.checkRight()
	w.note("right, as it should be")
	before := w.writes
	w.mu.Unlock()
	time.Sleep(time.Hour)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checkRight()
	if w.writes != before {
		w.breach(22, "%d writes in an hour of calm", w.writes-before)
	}
}
