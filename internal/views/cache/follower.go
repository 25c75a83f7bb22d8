package cache

import (
	"maps"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// JoinedService is a Service with its endpoints, as they are now. Its values never change.
type JoinedService struct {
	Key join.Key
	// Service is nil where it is gone or not selected; then there are no endpoints.
	Service   *join.Service
	Endpoints []join.Endpoint
}

// Follower is told which Services changed, whatever changed about them. Of a Service that
// changed twice it gets the newest state. It is of one goroutine.
type Follower struct {
	cache   *Cache
	changed map[join.Key]struct{}
	news    chan struct{}
}

// Follow returns a follower that has not taken any Service yet.
func (c *Cache) Follow() *Follower {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := &Follower{cache: c, changed: make(map[join.Key]struct{}), news: make(chan struct{}, 1)}
	c.followers[f] = struct{}{}
	for key := range c.services {
		f.note(key)
	}
	f.wake()
	return f
}

// Stop ends the following.
func (f *Follower) Stop() {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	delete(f.cache.followers, f)
}

// News has something when there may be something to take.
func (f *Follower) News() <-chan struct{} { return f.news }

// Take returns the Services that changed since the last call, by namespace and name; false
// before the first join. The first time these are all.
func (f *Follower) Take() ([]JoinedService, bool) {
	c := f.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.synced {
		return nil, false
	}
	all := make([]JoinedService, 0, len(f.changed))
	for _, key := range slices.SortedFunc(maps.Keys(f.changed), compareKeys) {
		one := JoinedService{Key: key}
		if s := c.services[key]; s != nil && s.input != nil {
			one.Service, one.Endpoints = s.input, s.joined
		}
		all = append(all, one)
	}
	clear(f.changed)
	return all, true
}

// note is called under the lock of the cache.
func (f *Follower) note(key join.Key) {
	f.changed[key] = struct{}{}
	f.wake()
}

func (f *Follower) wake() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}
