package cache

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// service is one Service with what belongs to it.
type service struct {
	key   join.Key
	scope int
	// input is nil for one that is not there or not selected.
	input  *join.Service
	slices map[string]*join.Slice
	// joined are its endpoints, and items their objects, in the same order.
	joined []join.Endpoint
	items  []*item
	// gone are the items that were here, by name.
	gone    map[string]*item
	history history
}

func newService(key join.Key, scope int) *service {
	return &service{
		key: key, scope: scope, slices: make(map[string]*join.Slice), gone: make(map[string]*item),
	}
}

// empty reports whether the server holds nothing of the Service.
func (s *service) empty() bool { return s.input == nil && len(s.slices) == 0 }

// objects are the endpoints of a port.
func (s *service) objects(port string) []*views.EndpointView {
	var objects []*views.EndpointView
	for i, one := range s.items {
		if s.joined[i].Port.Name == port {
			objects = append(objects, one.object)
		}
	}
	return objects
}

// gathered are the objects of the ports.
func (s *service) gathered(readyOnly bool) []listed {
	var all []listed
	if s.input == nil {
		return nil
	}
	for _, port := range s.input.Ports {
		input, objects := s.input, s.objects(port.Name)
		object := &encoding{encode: func() any { return gather(input, port.Name, objects, readyOnly) }}
		all = append(all, listed{s.key.Namespace, join.PortName(s.key.Name, port.Name), object})
	}
	return all
}

// rejoin brings the objects of a Service up to date. It is called under the lock; what is
// computed before that is the join.
func (c *Cache) rejoin(s *service, joined []join.Endpoint, now time.Time) {
	old, items := s.joined, s.items
	next := make([]*item, len(joined))
	var gone []*item
	join.Merge(old, joined, func(i, j int) {
		switch {
		case j == join.None:
			gone = append(gone, items[i])
		case i == join.None:
			next[j] = c.appear(s, &joined[j], now)
		case old[i] == joined[j]:
			next[j] = items[i]
		default:
			next[j] = items[i]
			since := items[i].object.Spec.Since
			items[i].object = joined[j].Object(s.key, c.since(now))
			if old[i].State == joined[j].State {
				items[i].object.Spec.Since = since
			}
			c.changed(items[i], true, joined[j].State == views.Ready)
		}
	})
	s.joined, s.items = joined, next
	for _, one := range gone {
		c.vanish(one, now)
	}
}

// since is when a state began that was not there before; zero in the first join.
func (c *Cache) since(now time.Time) time.Time {
	if !c.synced {
		return time.Time{}
	}
	return now
}

// appear makes the object of an endpoint that is new, or brings back the one that it
// had.
func (c *Cache) appear(s *service, e *join.Endpoint, now time.Time) *item {
	name := join.Name(s.key.Name, e)
	one := c.take(s, name)
	one.object = e.Object(s.key, c.since(now))
	c.changed(one, true, e.State == views.Ready)
	return one
}

// take returns the item of that name, which is gone or was never there.
func (c *Cache) take(s *service, name string) *item {
	one := s.gone[name]
	c.events.live++
	if one == nil {
		c.events.items++
		return &item{service: s, name: name, slot: c.slots.take()}
	}
	delete(s.gone, name)
	return one
}

// vanish notes that an object is gone. It is remembered for a time.
func (c *Cache) vanish(one *item, now time.Time) {
	c.changed(one, false, false)
	c.events.live--
	one.service.gone[one.name] = one
	c.graves = append(c.graves, grave{item: one, seq: one.seq, at: now})
}

// changed notes a change of an object that is there or not.
func (c *Cache) changed(one *item, there, ready bool) {
	c.seq++
	one.seq, one.at = c.seq, c.scopes[one.service.scope].reached
	one.set(there, ready)
	c.events.add(one)
	c.news = true
}
