package cache

import (
	"maps"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// step is what a watch tells at once: one event, or a complete list.
type step struct {
	scope    int
	kind     Kind
	revision Revision
	news     []Input
	// list says that it is a complete list, back that it is older than what was known.
	list, back bool
}

// staleService is a Service whose join is to be made anew.
type staleService struct {
	*service

	next   *join.Service
	joined []join.Endpoint
	// newest is the newest revision of what changed.
	newest Revision
}

// publish takes over what a step says, joins the Services that it concerns, and tells
// readers. Readers wait for the last of these only.
func (c *Cache) publish(s step) {
	now := time.Now()
	touched := make(map[join.Key]*staleService)
	for _, in := range s.news {
		c.apply(s, in, touched)
	}
	if s.list {
		c.scopes[s.scope].lists[s.kind] = true
	}
	first := !c.synced && !slices.ContainsFunc(c.scopes, func(of scope) bool { return of.lists != [kinds]bool{true, true} })
	if first {
		for key, of := range c.services {
			c.touch(key, of.scope, 0, touched)
		}
	}
	all := slices.SortedFunc(maps.Values(touched), func(a, b *staleService) int { return compareKeys(a.key, b.key) })
	if c.synced || first {
		for _, d := range all {
			d.joined = join.Join(d.next, slices.Collect(maps.Values(d.slices)))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(s)
	for _, d := range all {
		c.services[d.key] = d.service
		before := d.input
		d.input = d.next
		if d.newest > 0 {
			d.history.note(s.kind, d.newest)
		}
		if c.synced || first {
			c.rejoin(d.service, before, d.joined, now)
		}
		for f := range c.followers {
			f.note(d.key)
		}
		if d.empty() {
			c.graves = append(c.graves, grave{service: d.service, last: d.history.last, at: now})
		}
	}
	if first {
		c.begin()
	}
	c.prune(now)
	c.tell()
}

// begin makes the views public.
func (c *Cache) begin() {
	c.synced, c.news = true, true
	for f := range c.followers {
		f.wake()
	}
	for i := range c.scopes {
		c.scopes[i].floor = c.scopes[i].reached
	}
}

// advance moves the position.
func (c *Cache) advance(s step) {
	at := &c.scopes[s.scope]
	if s.list {
		at.floor[s.kind] = s.revision
	}
	if s.back {
		c.epoch++
		c.news = true
	}
	at.reached[s.kind] = s.revision
	c.recount()
	was := at.unsure[s.kind]
	at.unsure[s.kind] = at.wrong[s.kind] || c.hasUnconfirmed(s.scope, s.kind)
	if was || at.unsure[s.kind] {
		at.floor = at.floor.join(at.reached)
	}
}

// apply notes what is new of one object. Only the holder of the input's lock
// sees what it changes.
func (c *Cache) apply(s step, in Input, touched map[join.Key]*staleService) {
	before := c.known[s.kind][in.Key].Input
	in = c.fitting(s.scope, s.kind, in, before)
	if in.Service != nil || in.Slice != nil {
		c.known[s.kind][in.Key] = cachedObject{in, s.scope}
	} else {
		delete(c.known[s.kind], in.Key)
	}
	revision := s.revision
	if s.kind == Services {
		if delete(c.hidden, in.Key); in.Hidden {
			c.hidden[in.Key] = s.scope
		}
		if !before.Service.Equal(in.Service) {
			c.touch(in.Key, s.scope, revision, touched).next = in.Service
		}
		return
	}
	if before.Slice.Equal(in.Slice) {
		return
	}
	if before.Slice != nil {
		d := c.touch(join.Key{Namespace: in.Key.Namespace, Name: before.Slice.Service}, s.scope, revision, touched)
		delete(d.slices, in.Key.Name)
	}
	if in.Slice != nil {
		d := c.touch(join.Key{Namespace: in.Key.Namespace, Name: in.Slice.Service}, s.scope, revision, touched)
		d.slices[in.Key.Name] = in.Slice
	}
}

// touch returns the Service as it is to be joined anew.
func (c *Cache) touch(key join.Key, scope int, revision Revision, touched map[join.Key]*staleService) *staleService {
	d := touched[key]
	if d == nil {
		of := c.services[key]
		if of == nil {
			of = newService(key, scope)
		}
		d = &staleService{service: of, next: of.input}
		touched[key] = d
	}
	d.newest = max(d.newest, revision)
	return d
}
