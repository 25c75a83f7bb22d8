//go:build simulation

package simulation_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// alive is how many bytes are alive in memory.
func alive() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// checkMemory is contract 33, once the storm is over and the processes still run:
// what is alive does not depend on how long the storm was, nor on how many processes
// have ended in it.
func (w *world) checkMemory() {
	const most = 16 << 20
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.grown = alive() - w.atFirst; w.grown > most {
		w.breach(33, "%d KiB are alive after %s that were not at the beginning", w.grown>>10, w.set.storm)
	}
}

// A process that ended is no part of the world any more: a day of storm has hundreds.
func TestMemoryDoesNotGrowWithTheProcessesThatEnded(t *testing.T) {
	bubble.Alone(t)
	before := alive()
	bubble.Test(t, func(t *testing.T) {
		w, err := newWorld(1, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		w.set.connections, w.set.election, w.set.forced, w.set.policy.HealthOff = 10, false, false, false
		w.atFirst = before
		for range 400 {
			w.look(t)
			time.Sleep(20 * time.Second)
			synctest.Wait()
			w.mu.Lock()
			w.cut(nil, func(*line) bool { return true })
			p := w.halt(&w.daemon, false)
			w.mu.Unlock()
			<-p.done
		}
		w.checkMemory()
		if w.broken != "" {
			t.Error(w.broken)
		}
		if w.counts["lost connections"] == 0 {
			t.Error("no process lost a connection")
		}
	})
}
