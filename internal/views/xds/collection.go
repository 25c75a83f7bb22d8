package xds

import (
	"maps"
	"slices"
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// collection are the resources of one kind that some clients may see, and what each of these
// wants of them. It is the cache behind the stream servers.
//
// What a client has is known by versions, and versions are those of bytes. A resource that
// is put again with the same bytes is not sent again.
//
// A change costs a look at each client, and a request what it says: never as much as the
// client has names.
type collection struct {
	kind envoyconfig.Kind

	mu        sync.Mutex
	all       map[string]*resource
	interests map[*interest]struct{}
}

// newCollection returns an empty one.
func newCollection(kind envoyconfig.Kind) *collection {
	return &collection{kind: kind, all: make(map[string]*resource), interests: make(map[*interest]struct{})}
}

// put adds and replaces resources.
func (c *collection) put(all map[string]*resource) { c.change(all, nil) }

// drop removes resources.
func (c *collection) drop(names []string) { c.change(nil, names) }

// become makes the collection these resources and no others.
func (c *collection) become(all map[string]*resource) { c.change(all, c.surplus(all)) }

// keeps reports whether a client has something that it is told later to remove.
func (c *collection) keeps(i *interest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(i.kept) > 0
}

// release tells a client to remove that.
func (c *collection) release(i *interest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range i.kept {
		i.note(name, changed)
	}
	i.kept = nil
	c.tell(i)
}

// get returns a resource, nil for none.
func (c *collection) get(name string) *resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[name]
}

// version returns that of a resource, empty for none.
func (c *collection) version(name string) string {
	if r := c.get(name); r != nil {
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
	var touched []string
	for name, r := range put {
		if c.all[name] != r {
			c.all[name] = r
			touched = append(touched, name)
		}
	}
	for _, name := range drop {
		delete(c.all, name)
		touched = append(touched, name)
	}
	if len(touched) == 0 {
		return
	}
	for i := range c.interests {
		for _, name := range touched {
			if _, has := i.has[name]; has || i.wants(name) {
				i.note(name, changed)
			}
		}
		c.tell(i)
	}
}

// tell answers a request that waits, if there is something new.
func (c *collection) tell(i *interest) {
	if i.send == nil {
		return
	}
	if put, removed := c.newest(i); len(put) > 0 || len(removed) > 0 && (i.changes || c.whole()) {
		c.answer(i, put, removed)
	}
}

// whole reports whether what an answer leaves out is gone, in the state of the world.
func (c *collection) whole() bool {
	return c.kind == envoyconfig.Clusters || c.kind == envoyconfig.Listeners
}

// answer answers the request that waits.
func (c *collection) answer(i *interest, put, removed []string) {
	if !i.changes {
		i.has = maps.Clone(i.has) // an answer may be given up
		if c.whole() {
			put = nil
			for name := range c.all {
				if i.wants(name) {
					put = append(put, name)
				}
			}
			slices.Sort(put)
		}
	}
	if i.most > 0 {
		n := min(i.most, len(put))
		i.leave(put[n:])
		put, i.most = put[:n], min(2*i.most, mostNames)
	}
	for _, name := range removed {
		delete(i.has, name)
	}
	a := reply{removed: removed, has: i.has}
	for _, name := range put {
		one := c.all[name].encoded()
		a.resources = append(a.resources, one)
		i.has[one.GetName()] = one.GetVersion()
	}
	send := i.send
	if i.send = nil; !i.changes {
		delete(c.interests, i)
	}
	send(a)
}

// split sends what an answer had that a client rejected again, because the client took nothing of
// it: first one resource, then ever more. A resource that is the only one of an answer is rejected
// itself, and is not sent again before it changes.
func (c *collection) split(i *interest, a *answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(a.put) > 0 {
		i.leave(a.removed)
	}
	if len(a.put) > 1 {
		i.leave(a.names())
		i.most = 1
	}
}

// forget ends what a client wants.
func (c *collection) forget(i *interest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.interests, i)
}
