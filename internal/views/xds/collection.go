package xds

import (
	"slices"
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// collection are the resources of one kind that some clients may see, and what each of these
// wants of them.
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

// get returns a resource, nil for none.
func (c *collection) get(name string) *resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[name]
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
		i.tell()
	}
}
