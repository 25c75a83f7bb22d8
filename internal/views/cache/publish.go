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

// dirty is a Service whose join is to be made anew.
type dirty struct {
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
	touched := make(map[join.Key]*dirty)
	for _, in := range s.news {
		c.apply(s, in, touched)
	}
	first := !c.synced && c.completes(s)
	var all []*dirty
	for _, d := range touched {
		if c.synced || first {
			d.joined = join.Join(d.next, slices.Collect(maps.Values(d.slices)))
		}
		all = append(all, d)
	}
	if first {
		all = append(all, c.others(touched)...)
	}
	slices.SortFunc(all, func(a, b *dirty) int { return compareKeys(a.key, b.key) })
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
		if at.lists[s.kind] {
			at.floor[s.kind] = s.revision
		}
		at.lists[s.kind] = true
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

// before is what is known of an object; it is empty where nothing is.
func (c *Cache) before(kind Kind, key join.Key) *objectState {
	if before := c.known[kind][key]; before != nil {
		return before
	}
	return &objectState{}
}

// apply notes what is new of one object. Only the holder of the input's lock
// sees what it changes.
func (c *Cache) apply(s step, in Input, touched map[join.Key]*dirty) {
	before := c.before(s.kind, in.Key)
	in = c.fitting(s.scope, s.kind, in, before)
	if in.said() {
		c.known[s.kind][in.Key] = &objectState{scope: s.scope, revision: in.Revision, service: in.Service, slice: in.Slice}
	} else {
		delete(c.known[s.kind], in.Key)
	}
	revision := s.revision
	if s.kind == Services {
		if delete(c.hidden, in.Key); in.Hidden {
			c.hidden[in.Key] = s.scope
		}
		if !before.service.Equal(in.Service) {
			c.touch(in.Key, s.scope, revision, touched).next = in.Service
		}
		return
	}
	if before.slice.Equal(in.Slice) {
		return
	}
	if before.slice != nil {
		d := c.touch(join.Key{Namespace: in.Key.Namespace, Name: before.slice.Service}, s.scope, revision, touched)
		delete(d.slices, in.Key.Name)
	}
	if in.Slice != nil {
		d := c.touch(join.Key{Namespace: in.Key.Namespace, Name: in.Slice.Service}, s.scope, revision, touched)
		d.slices[in.Key.Name] = in.Slice
	}
}

// touch returns the Service as it is to be joined anew.
func (c *Cache) touch(key join.Key, scope int, revision Revision, touched map[join.Key]*dirty) *dirty {
	d := touched[key]
	if d == nil {
		of := c.services[key]
		if of == nil {
			of = newService(key, scope)
		}
		d = &dirty{service: of, next: of.input}
		touched[key] = d
	}
	d.newest = max(d.newest, revision)
	return d
}

// completes reports whether with this step every watch has told a complete list.
func (c *Cache) completes(s step) bool {
	for i := range c.scopes {
		for kind, listed := range c.scopes[i].lists {
			if !listed && !(s.list && i == s.scope && Kind(kind) == s.kind) {
				return false
			}
		}
	}
	return true
}

// others joins the Services that a first join has to make beside those touched.
func (c *Cache) others(touched map[join.Key]*dirty) []*dirty {
	var all []*dirty
	for key, s := range c.services {
		if touched[key] == nil {
			all = append(all, &dirty{service: s, next: s.input, joined: join.Join(s.input, slices.Collect(maps.Values(s.slices)))})
		}
	}
	return all
}
