package many_test

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

var (
	oneSeed = flag.Uint64("seed", 0, "simulate this seed alone")
	seeds   = flag.Uint64("seeds", 4, "how many seeds to simulate")
	first   = flag.Uint64("first", 1, "the first of the seeds")
	storm   = flag.Duration("storm", 10*time.Minute, "how long each storm lasts in simulated time")
	logs    = flag.Bool("log", false, "tell what the program logs, too")
	lines   = flag.Int("lines", 80, "how many events before a failure to print")
)

// tick is the simulated time between two looks.
const tick = 250 * time.Millisecond

func TestTroubleOfManyServicesBreaksNoPromise(t *testing.T) {
	if *oneSeed != 0 {
		*first, *seeds = *oneSeed, 1
	}
	bubble.Alone(t)
	for seed := *first; seed < *first+*seeds; seed++ {
		if w := simulate(t, seed); w.broken != "" {
			t.Errorf("seed %d: %s\n%s\nto repeat: go test ./test/simulation/many -seed %d -storm %s", seed, w.broken, w.story(), seed, *storm)
		}
	}
}

// simulate lets a world pass.
func simulate(t *testing.T, seed uint64) (w *world) {
	bubble.Test(t, func(t *testing.T) {
		w = newWorld(t, seed)
		w.start()
		w.pass(seed)
		w.end()
	})
	return w
}

// TestNoTeamIsRefusedBeforeTheDocumentsWereRead: the Services are known first, and no team
// is told that it may not use a pool before the documents were read.
func TestNoTeamIsRefusedBeforeTheDocumentsWereRead(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		*logs = true
		w := newWorld(t, 1)
		read := w.set
		w.set = documents.Set{}
		w.start()
		time.Sleep(10 * time.Second)
		w.mu.Lock()
		w.set = read
		w.mu.Unlock()
		leave(w.edited)
		time.Sleep(10 * time.Second)
		w.end()
		if told := w.story(); strings.Contains(told, "not granted") || !strings.Contains(told, "wrote shop/web.blue") {
			t.Errorf("got\n%s\nwant every Service filled, and none refused", told)
		}
		*logs = false
	})
}

// pass lets the storm happen, and the calm after it.
func (w *world) pass(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	time.Sleep(30 * time.Second)
	for next, steps := time.Now(), 1; time.Since(w.begun) < *storm && w.broken == ""; steps++ {
		time.Sleep(tick)
		synctest.Wait()
		bubble.Tidy(steps)
		if restart := time.Now().After(next) && r.IntN(25) == 0; restart {
			w.restart(r)
		}
		w.mu.Lock()
		if time.Now().After(next) {
			w.happen(r)
			next = time.Now().Add(time.Duration(r.ExpFloat64() * float64(4*time.Second)))
		}
		w.look()
		w.mu.Unlock()
	}
	if w.broken == "" {
		w.becomeCalm()
	}
}

// restart ends the program, and starts it again after a while.
func (w *world) restart(r *rand.Rand) {
	w.end()
	w.mu.Lock()
	w.note("the process ended")
	w.mu.Unlock()
	time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
	w.mu.Lock()
	w.forget()
	w.mu.Unlock()
	w.start()
	w.mu.Lock()
	w.note("the process began")
	w.mu.Unlock()
}

// becomeCalm ends the trouble: the slices become right, and writing stops.
func (w *world) becomeCalm() {
	w.mu.Lock()
	w.calm()
	w.mu.Unlock()
	writes, quiet := 0, time.Now()
	// A source that failed often is asked again after five minutes.
	for end := time.Now().Add(7 * time.Minute); time.Since(quiet) < time.Minute && w.broken == ""; {
		time.Sleep(time.Second)
		synctest.Wait()
		w.mu.Lock()
		w.look()
		wrong := w.wrong()
		if len(wrong) > 0 || w.local.writes != writes {
			writes, quiet = w.local.writes, time.Now()
		}
		if time.Now().After(end) {
			w.breach("the slices are not right, or are still written, seven minutes after all trouble: %s", strings.Join(wrong, "; "))
		}
		w.mu.Unlock()
	}
}

// story is what happened before the end.
func (w *world) story() string {
	return strings.Join(w.trace[max(0, len(w.trace)-*lines):], "\n")
}
