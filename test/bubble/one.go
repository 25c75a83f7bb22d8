//go:build race && !go1.27

package bubble

import (
	"runtime"
	"sync"
)

// running counts the bubbles of this process.
var running bubbles

type bubbles struct {
	sync.Mutex
	count      int
	processors int // before the first of them
}

// onOneProcessor leaves the process one processor until the last bubble has ended.
func onOneProcessor() (ended func()) {
	running.begin()
	return running.end
}

func (b *bubbles) begin() {
	b.Lock()
	defer b.Unlock()
	if b.count++; b.count == 1 {
		b.processors = runtime.GOMAXPROCS(1)
	}
}

func (b *bubbles) end() {
	b.Lock()
	defer b.Unlock()
	if b.count--; b.count == 0 {
		runtime.GOMAXPROCS(b.processors)
	}
}
