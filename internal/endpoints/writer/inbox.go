package writer

import (
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// inbox gathers what comes from other goroutines until the loop takes it. Of several
// verdicts of a pool it keeps the newest, and of several changes of a store one.
type inbox struct {
	mu sync.Mutex
	// filled has a value when there is something.
	filled chan struct{}
	news   news
	// idle says that nothing came since the loop had nothing to do.
	idle bool
}

// news is what came since the loop took the last.
type news struct {
	// moves are targets that came or went, in order.
	moves    []move
	verdicts map[string]*guard.Verdict
	changed  map[*Filler]bool
	phases   map[*Filler][]Phase
}

// move is a target that came or went.
type move struct {
	target *Filler
	gone   bool
}

// newInbox returns an empty inbox.
func newInbox() *inbox { return &inbox{filled: make(chan struct{}, 1), news: noNews()} }

func noNews() news {
	return news{verdicts: make(map[string]*guard.Verdict), changed: make(map[*Filler]bool), phases: make(map[*Filler][]Phase)}
}

// put changes what is in the inbox, and wakes the loop.
func (i *inbox) put(change func(*news)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(&i.news)
	i.idle = false
	transport.Signal(i.filled)
}

// rest notes whether the loop has nothing to do until something comes, or time calls for it.
func (i *inbox) rest(idle bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.idle = idle && len(i.filled) == 0
}

// take empties the inbox.
func (i *inbox) take() news {
	i.mu.Lock()
	defer i.mu.Unlock()
	taken := i.news
	i.news = noNews()
	return taken
}
