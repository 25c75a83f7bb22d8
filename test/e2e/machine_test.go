package e2e_test

import (
	"os/exec"
	"sync"
	"testing"
	"time"
)

// machine measures how slow the machine is while the tests run: every 200 ms, how long it
// takes to run a program that does nothing. A bound of a promise is longer by what a busy
// machine adds, so that the verdict is about the program.
var machine struct {
	mu   sync.Mutex
	took []run
}

// run is one run of the program that does nothing.
type run struct {
	began time.Time
	took  time.Duration
}

// steps is how many times in a row what a test measures waits for a processor: the test,
// the daemon, the API server, etcd, and back.
const steps = 10

// watchMachine measures until the process ends.
func watchMachine() {
	for tick := time.NewTicker(200 * time.Millisecond); ; <-tick.C {
		began := time.Now()
		_ = exec.Command("true").Run()
		machine.mu.Lock()
		machine.took = append(machine.took, run{began, time.Since(began)})
		machine.mu.Unlock()
	}
}

// slowness is how much a busy machine added at most to what has been going on since then.
func slowness(since time.Time) time.Duration {
	machine.mu.Lock()
	defer machine.mu.Unlock()
	var most time.Duration
	for i := len(machine.took) - 1; i >= 0; i-- {
		r := machine.took[i]
		if r.began.Add(r.took).Before(since) {
			break
		}
		most = max(most, r.took)
	}
	return steps * most
}

// wantWithin demands that what began then took no longer than promised, on this machine.
func wantWithin(t *testing.T, what string, from, at time.Time, promised time.Duration) {
	t.Helper()
	if took, slow := at.Sub(from), slowness(from); took > promised+slow {
		t.Errorf("%s took %s, want at most %s and %s for a busy machine", what, took, promised, slow)
	}
}
