package bubble

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// Alone makes what runs next depend on its seed only, as far as possible: one goroutine runs at a
// time, and the garbage is collected between two steps, by Tidy.
func Alone(t *testing.T) {
	t.Helper()
	procs, percent := runtime.GOMAXPROCS(1), debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(2 << 30)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}

// Tidy collects the garbage now and then, when only the world runs.
func Tidy(steps int) {
	if steps%1000 == 0 {
		runtime.GC()
	}
}
