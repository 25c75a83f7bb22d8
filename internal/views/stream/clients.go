package stream

import (
	"sync"
	"sync/atomic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// What a client is told that finds no place.
const (
	fullOfStreams = "there are %d streams, as many as VIEWS_MAX_CLIENTS allows; ask again, or another replica"
	ownStreams    = "client %s has %d streams, as many as VIEWS_MAX_CLIENTS_PER_IDENTITY allows; end one of them"
	ownLists      = "client %s is being sent %d lists; take them, and ask again"
)

// clients bounds streams or lists, all of them and those of each identity.
type clients struct {
	most, mostOfOne int
	// again is after how many seconds a client may ask again.
	again int
	// full and crowded say that there are as many as may be, of all and of one identity.
	full, crowded string

	mu  sync.Mutex
	all int
	of  map[string]int
}

// enter takes a place, and says which bound is reached where there is none.
func (c *clients) enter(name string) *refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= c.most {
		return refuse(429, "TooManyRequests", c.full, c.all).after(c.again)
	}
	if c.of[name] >= c.mostOfOne {
		return refuse(429, "TooManyRequests", c.crowded, name, c.of[name]).after(c.again)
	}
	c.all++
	c.of[name]++
	return nil
}

// leave gives the place back.
func (c *clients) leave(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.of[name]--; c.of[name] == 0 {
		delete(c.of, name)
	}
}

func (c *clients) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// stats counts what the server did.
type stats struct {
	events                            [len(countedEvents)]atomic.Uint64
	expired, timedOut, resumed, lists atomic.Uint64
	denied                            [600]atomic.Uint64 // by code
}

// countedEvents are the types of the events that the cache tells.
var countedEvents = [...]views.EventType{views.Added, views.Modified, views.Deleted}

// Stats is what the server did so far.
type Stats struct {
	// Streams are those that are open.
	Streams int
	// Events are those sent, by type.
	Events map[views.EventType]uint64
	// Expired are the streams that ended with 410, TimedOut those that ended because the
	// client took nothing for too long, Resumed those that went on from a token, Lists
	// the lists sent.
	Expired, TimedOut, Resumed, Lists uint64
	// Denied are the requests that were denied, by HTTP status.
	Denied map[int]uint64
}

// Stats returns what the server did so far.
func (s *Server) Stats() Stats {
	now := Stats{
		Streams: s.clients.count(), Expired: s.stats.expired.Load(), TimedOut: s.stats.timedOut.Load(), Resumed: s.stats.resumed.Load(), Lists: s.stats.lists.Load(),
		Events: make(map[views.EventType]uint64), Denied: make(map[int]uint64),
	}
	for i, kind := range countedEvents {
		now.Events[kind] = s.stats.events[i].Load()
	}
	for code := range s.stats.denied {
		if n := s.stats.denied[code].Load(); n > 0 {
			now.Denied[code] = n
		}
	}
	return now
}
