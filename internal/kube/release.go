package kube

import (
	"runtime"
	"runtime/debug"
)

// mostIdle is how much memory may be left over from a list.
const mostIdle = 8 << 20

// release gives memory back that only the decoding of a list needed. Whoever may write
// objects decides how much that is, and it must not count against the limit of the
// container until the runtime gives it back. It does so where the process has grown by a
// quarter since the last time, so that it stays rare however many lists there are.
func (c *Client) release() {
	if held := heldMemory(); held > c.held.Load()*5/4+mostIdle {
		debug.FreeOSMemory()
		c.held.Store(heldMemory())
	}
}

// heldMemory is how much of the heap the process has from the system.
func heldMemory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys - m.HeapReleased
}
