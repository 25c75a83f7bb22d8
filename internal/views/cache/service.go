package cache

import (
	"slices"
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
	// ports are the gathered objects of each port.
	ports map[itemKey]*item
	// gone are the items that were here.
	gone    map[itemKey]*item
	history history
}

func newService(key join.Key, scope int) *service {
	return &service{
		key: key, scope: scope, slices: make(map[string]*join.Slice), ports: make(map[itemKey]*item), gone: make(map[itemKey]*item),
	}
}

// empty reports whether the server holds nothing of the Service.
func (s *service) empty() bool { return s.input == nil && len(s.slices) == 0 }

// objects are the endpoints that a gathered object has.
func (s *service) objects(of *item) []*views.EndpointView {
	var objects []*views.EndpointView
	for i, one := range s.items {
		if s.joined[i].Port.Name == of.port.Name && (of.form == gathered || s.joined[i].State == views.Ready) {
			objects = append(objects, one.object)
		}
	}
	return objects
}

// rejoin brings the objects of a Service up to date after before was its input. It is
// called under the lock; what is computed before that is the join.
func (c *Cache) rejoin(s *service, before *join.Service, joined []join.Endpoint, now time.Time) {
	old, items := s.joined, s.items
	// touched are the ports that changed, and whether what changed of them is or was ready.
	touched := make(map[string]bool)
	touch := func(port string, before, after views.State) {
		touched[port] = touched[port] || before == views.Ready || after == views.Ready
	}
	next := make([]*item, len(joined))
	var gone []*item
	c.endPorts(s, before, now)
	join.Merge(old, joined, func(i, j int) {
		switch {
		case j == join.None:
			touch(old[i].Port.Name, old[i].State, views.Down)
			gone = append(gone, items[i])
		case i == join.None:
			touch(joined[j].Port.Name, views.Down, joined[j].State)
			next[j] = c.appear(s, &joined[j], now)
		case old[i] == joined[j]:
			next[j] = items[i]
		default:
			touch(joined[j].Port.Name, old[i].State, joined[j].State)
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
	c.rejoinPorts(s, before, touched)
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
	one := c.take(s, itemKey{single, join.Name(s.key.Name, e)})
	one.object = e.Object(s.key, c.since(now))
	c.changed(one, true, e.State == views.Ready)
	return one
}

// take returns the item of that name, which is gone or was never there.
func (c *Cache) take(s *service, key itemKey) *item {
	one := s.gone[key]
	c.forms[key.form].live++
	if one == nil {
		c.forms[key.form].items++
		return &item{itemKey: key, service: s, slot: c.slots.take()}
	}
	delete(s.gone, key)
	return one
}

// vanish notes that an object is gone. It is remembered for a time.
func (c *Cache) vanish(one *item, now time.Time) {
	c.changed(one, false, false)
	c.forms[one.form].live--
	one.service.gone[one.itemKey] = one
	c.graves = append(c.graves, grave{item: one, seq: one.seq, at: now})
}

// changed notes a change of an object that is there or not.
func (c *Cache) changed(one *item, there, ready bool) {
	c.seq++
	if one.form == single {
		c.told++
	}
	one.seq, one.at = c.seq, c.scopes[one.service.scope].reached
	one.set(there, ready)
	c.forms[one.form].add(one)
	c.news = true
}

// endPorts notes that ports are gone, with the endpoints that they still have.
func (c *Cache) endPorts(s *service, before *join.Service, now time.Time) {
	for key, one := range s.ports {
		if s.input == nil || !slices.ContainsFunc(s.input.Ports, func(p join.Port) bool { return p.Name == one.port.Name }) {
			one.last = join.Gather(before, one.port, s.objects(one))
			delete(s.ports, key)
			c.vanish(one, now)
		}
	}
}

// rejoinPorts does for the gathered objects what rejoin does for the endpoints.
func (c *Cache) rejoinPorts(s *service, before *join.Service, touched map[string]bool) {
	if s.input == nil {
		return
	}
	for _, port := range s.input.Ports {
		same := before != nil && before.Type == s.input.Type && slices.Contains(before.Ports, port)
		for _, f := range []form{gathered, gatheredReady} {
			key := itemKey{f, join.PortName(s.key.Name, port.Name)}
			one := s.ports[key]
			if one == nil {
				one = c.take(s, key)
				s.ports[key] = one
			} else if ready, changed := touched[port.Name]; same && !ready && (!changed || f == gatheredReady) {
				continue
			}
			one.port, one.last = port, nil
			c.changed(one, true, true)
		}
	}
}
