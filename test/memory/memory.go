// Package memory measures memory in tests.
package memory

import (
	"math"
	"runtime"
)

// Live returns the bytes that are in use after garbage was collected, in all of the
// process. What takes part in a collection of its own, such as a pool or a finalizer,
// goes only with the next ones: five in a row free no more.
func Live() int {
	least := math.MaxInt
	for since := 0; since < 5; since++ {
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		if is := int(now.HeapAlloc); is < least {
			least, since = is, -1
		}
	}
	return least
}
