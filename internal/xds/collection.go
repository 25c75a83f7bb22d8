package xds

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/xds/resources"
)

// collection are the resources of one kind that some clients may see, and the requests
// that wait until one of these changes. It is the cache behind the stream servers.
//
// What a client has is known by versions, and versions are those of bytes. A resource that
// is put again with the same bytes is not sent again.
type collection struct {
	kind resources.Kind

	mu  sync.Mutex
	all map[string]*resource
	// everything are requests that wait for any resource, named those for some.
	everything map[*watch]struct{}
	named      map[string]map[*watch]struct{}
}

// newCollection returns an empty one.
func newCollection(kind resources.Kind) *collection {
	return &collection{
		kind: kind, all: make(map[string]*resource),
		everything: make(map[*watch]struct{}), named: make(map[string]map[*watch]struct{}),
	}
}

// watch is a request that is not answered yet. It is answered once.
type watch struct {
	cache.Subscription

	// changes says that an answer has only what changed, and names what is gone. In the
	// state of the world clusters and listeners that an answer leaves out are gone; other
	// kinds have no way to say so.
	changes bool
	send    func(reply)
}

// reply is what a request is answered with.
type reply struct {
	resources []*discoveryv3.Resource
	removed   []string
	// has are the versions that the client has after it.
	has map[string]string
}

// put adds and replaces resources.
func (c *collection) put(all map[string]*resource) { c.change(all, nil) }

// drop removes resources.
func (c *collection) drop(names []string) { c.change(nil, names) }

// become makes the collection these resources and no others.
func (c *collection) become(all map[string]*resource) { c.change(all, c.surplus(all)) }

// again looks once more at requests for everything: what their clients have may count
// otherwise than before.
func (c *collection) again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell(c.everything)
}

// has reports whether there is a resource of that name.
func (c *collection) has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[name] != nil
}

// version returns that of a resource, empty for none.
func (c *collection) version(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.all[name]; r != nil {
		return r.version()
	}
	return ""
}

// versions are those of all resources.
func (c *collection) versions() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]string, len(c.all))
	for name, r := range c.all {
		all[name] = r.version()
	}
	return all
}

// surplus are the resources that the other ones do not have, sorted.
func (c *collection) surplus(all map[string]*resource) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for name := range c.all {
		if all[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// change puts and drops resources, and answers those who wait for them. What is put and
// waited for by no request is not made.
func (c *collection) change(put map[string]*resource, drop []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := make(map[*watch]struct{})
	changed := false
	touch := func(name string) {
		changed = true
		maps.Copy(waiting, c.named[name])
	}
	for name, r := range put {
		if c.all[name] != r {
			c.all[name] = r
			touch(name)
		}
	}
	for _, name := range drop {
		delete(c.all, name)
		touch(name)
	}
	if changed {
		c.tell(waiting)
		c.tell(c.everything)
	}
}

// tell answers those of the requests for which there is something new.
func (c *collection) tell(waiting map[*watch]struct{}) {
	for w := range waiting {
		if changed, removed := c.news(w); c.counts(w, changed, removed) {
			c.remove(w)
			c.answer(w, changed, removed)
		}
	}
}

// wait answers a request now or later. It returns what ends the waiting.
func (c *collection) wait(w *watch, now bool) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changed, removed := c.news(w); now || c.counts(w, changed, removed) {
		c.answer(w, changed, removed)
		return nil
	}
	if w.IsWildcard() {
		c.everything[w] = struct{}{}
	} else {
		for name := range w.SubscribedResources() {
			if c.named[name] == nil {
				c.named[name] = make(map[*watch]struct{})
			}
			c.named[name][w] = struct{}{}
		}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.remove(w)
	}
}

func (c *collection) remove(w *watch) {
	delete(c.everything, w)
	for name := range w.SubscribedResources() {
		if delete(c.named[name], w); len(c.named[name]) == 0 {
			delete(c.named, name)
		}
	}
}

// news are the names of what a client does not have in the newest version, and of what it
// has and is not to have any more. Both are sorted.
func (c *collection) news(w *watch) (changed, removed []string) {
	has := w.ReturnedResources()
	for name := range c.wanted(w) {
		if version, known := has[name]; !known || version != c.all[name].version() {
			changed = append(changed, name)
		}
	}
	for name := range has {
		_, wanted := w.SubscribedResources()[name]
		if c.all[name] == nil || !wanted && !w.IsWildcard() {
			removed = append(removed, name)
		}
	}
	slices.Sort(changed)
	slices.Sort(removed)
	return changed, removed
}

// wanted are the names of what there is of what a request is for.
func (c *collection) wanted(w *watch) iter.Seq[string] {
	if w.IsWildcard() {
		return maps.Keys(c.all)
	}
	return func(yield func(string) bool) {
		for name := range w.SubscribedResources() {
			if c.all[name] != nil && !yield(name) {
				return
			}
		}
	}
}

// counts reports whether a request is to be answered.
func (c *collection) counts(w *watch, changed, removed []string) bool {
	return len(changed) > 0 || len(removed) > 0 && (w.changes || c.whole())
}

// whole reports whether what an answer leaves out is gone, in the state of the world.
func (c *collection) whole() bool {
	return c.kind == resources.Clusters || c.kind == resources.Listeners
}

// answer answers a request.
func (c *collection) answer(w *watch, changed, removed []string) {
	a := reply{removed: removed, has: maps.Clone(w.ReturnedResources())}
	for _, name := range removed {
		delete(a.has, name)
	}
	if !w.changes && c.whole() {
		changed = slices.Sorted(c.wanted(w))
	}
	for _, name := range changed {
		one := c.all[name].encoded()
		a.resources = append(a.resources, one)
		a.has[name] = one.GetVersion()
	}
	w.send(a)
}

// delta waits in the delta protocol.
func (c *collection) delta(r *cache.DeltaRequest, sub cache.Subscription, out chan cache.DeltaResponse) func() {
	w := &watch{Subscription: sub, changes: true, send: func(a reply) {
		out <- &cache.DeltaPassthroughResponse{
			DeltaRequest: r, NextVersionMap: a.has,
			DeltaDiscoveryResponse: &discoveryv3.DeltaDiscoveryResponse{TypeUrl: c.kind.TypeURL(), Resources: a.resources, RemovedResources: a.removed},
		}
	}}
	// A proxy that starts waits for the first answer about everything.
	return c.wait(w, sub.IsWildcard() && r.GetResponseNonce() == "")
}

// world waits in the protocol of the state of the world. The first request of a stream is
// always answered with all that it is for: the version in it is that of its last answer,
// which says nothing of names that were added or forgotten since.
func (c *collection) world(r *cache.Request, sub cache.Subscription, out chan cache.Response) func() {
	w := &watch{Subscription: sub, send: func(a reply) {
		all := make([]*anypb.Any, 0, len(a.resources))
		for _, one := range a.resources {
			all = append(all, one.GetResource())
		}
		out <- &cache.PassthroughResponse{
			Request: r, ReturnedResources: a.has,
			DiscoveryResponse: &discoveryv3.DiscoveryResponse{TypeUrl: c.kind.TypeURL(), VersionInfo: a.version(), Resources: all},
		}
	}}
	return c.wait(w, r.GetResponseNonce() == "")
}

// version is that of all that a client has: the same on every replica.
func (a reply) version() string {
	var text strings.Builder
	for _, name := range sortedKeys(a.has) {
		text.WriteString(name + "=" + a.has[name] + "\n")
	}
	return versionOf([]byte(text.String()))
}
