package xds

import (
	"maps"
	"slices"
	"strings"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// piece is how many names of a request are looked at before others have their turn.
const piece = 500

// delta waits in the delta protocol. It returns what ends the waiting; what the client wants
// stays. A proxy that starts waits for the first answer about everything, also where there
// is nothing.
//
// The lock is never held for as long as a request is.
func (c *collection) delta(s *subscription, w wish, r *cache.DeltaRequest, out chan cache.DeltaResponse) (func(), error) {
	i := &s.interest
	why := again
	locked(&c.mu, func() {
		c.interests[i] = struct{}{}
		if !s.begun {
			why = asked
		}
		w = s.begin(w)
	})
	f, err := c.ask(s, w, why)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i.send = func(a reply) {
		out <- &cache.DeltaPassthroughResponse{
			DeltaRequest:           r,
			DeltaDiscoveryResponse: &discoveryv3.DeltaDiscoveryResponse{TypeUrl: c.kind.TypeURL(), Resources: a.resources, RemovedResources: a.removed},
		}
	}
	put, removed := c.newest(i)
	// Meanwhile something may have come and gone, and be asked for no more.
	f.put = slices.DeleteFunc(append(f.put, put...), func(name string) bool { return c.all[name] == nil || !i.wants(name) })
	f.removed = slices.DeleteFunc(append(f.removed, removed...), func(name string) bool { return c.all[name] != nil && i.wants(name) })
	if put, removed = f.sorted(); len(put)+len(removed) > 0 || s.everything && r.GetResponseNonce() == "" {
		c.answer(i, put, removed)
	}
	return func() { locked(&c.mu, func() { i.send = nil }) }, nil
}

// ask takes over the names of a request, in pieces, and returns what there is to say of them.
func (c *collection) ask(s *subscription, w wish, why look) (f findings, err error) {
	there := func(name string) bool { return c.all[name] != nil }
	for names := range slices.Chunk(w.more, piece) {
		locked(&c.mu, func() {
			for _, name := range names {
				if err == nil && name != everyName {
					err = s.add(name, there)
					f.look(c, &s.interest, name, why)
				}
			}
		})
	}
	for names := range slices.Chunk(w.fewer, piece) {
		locked(&c.mu, func() {
			for _, name := range names {
				s.remove(name)
			}
		})
	}
	f.sorted()
	return f, err
}

// locked does something under a lock.
func locked(mu *sync.Mutex, do func()) {
	mu.Lock()
	defer mu.Unlock()
	do()
}

// world waits in the protocol of the state of the world. The first request of a stream is
// always answered with all that it is for: the version in it is that of its last answer,
// which says nothing of names that were added or forgotten since.
func (c *collection) world(r *cache.Request, wants func(string) bool, has map[string]string, out chan cache.Response) func() {
	i := &interest{wants: wants, has: has, anew: true, send: func(a reply) {
		all := make([]*anypb.Any, 0, len(a.resources))
		for _, one := range a.resources {
			all = append(all, one.GetResource())
		}
		out <- &cache.PassthroughResponse{
			Request: r, ReturnedResources: a.has,
			DiscoveryResponse: &discoveryv3.DiscoveryResponse{TypeUrl: c.kind.TypeURL(), VersionInfo: a.version(), Resources: all},
		}
	}}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.GetResponseNonce() == "" {
		put, removed := c.newest(i)
		c.answer(i, put, removed)
		return nil
	}
	if c.tell(i); i.send == nil {
		return nil
	}
	c.interests[i] = struct{}{}
	return func() { c.forget(i) }
}

// version is that of all that a client has: the same on every replica.
func (a reply) version() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a.has)) {
		text.WriteString(name + "=" + a.has[name] + "\n")
	}
	return versionOf([]byte(text.String()))
}
