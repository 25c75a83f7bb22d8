package xds

import (
	"reflect"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// translation is a Service with its resources, for both kinds of clients.
type translation struct {
	service     *join.Service
	grpc, envoy set
}

// translate returns a Service with its resources, of which nothing is made yet. What does
// not depend on endpoints stays what it was where the Service is the same.
func (s *Server) translate(j cache.JoinedService, before *translation) *translation {
	var grpc, envoy *set
	if before.same(j.Service) {
		grpc, envoy = &before.grpc, &before.envoy
	}
	return &translation{j.Service, form(envoyconfig.GRPC).of(j, s.opts.Settings, grpc), form(envoyconfig.Envoy).of(j, s.opts.Settings, envoy)}
}

// same reports whether the Service is the one that was translated.
func (t *translation) same(service *join.Service) bool { return t != nil && t.service == service }

// update takes over Services that changed, and sends what that changes.
func (s *Server) update(changed []cache.JoinedService, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.services == nil {
		s.services = make(map[join.Key]*translation)
	}
	var put, endpoints set
	var gone [envoyconfig.Kinds][]string
	// Of most only the endpoints change.
	redefined := make(map[join.Key]bool)
	for _, joined := range changed {
		before, after := s.services[joined.Key], &translation{}
		if joined.Service == nil {
			delete(s.services, joined.Key)
		} else {
			after = s.translate(joined, before)
			s.services[joined.Key] = after
		}
		if before.same(joined.Service) || before == nil && joined.Service == nil {
			endpoints.merge(after.envoy)
		} else {
			redefined[joined.Key] = true
		}
		put.merge(after.grpc)
		if before != nil {
			gone = missing(gone, before.grpc, after.grpc)
		}
	}
	s.share(put, gone)
	for _, f := range s.fleets {
		if f.refresh(endpoints); s.concerns(f, redefined) {
			s.want(f, now)
		}
	}
}

// share sends clients of gRPC what is new and what is gone. What leads to something else
// comes after it, and goes before it.
func (s *Server) share(put set, gone [envoyconfig.Kinds][]string) {
	for kind := range envoyconfig.Kinds {
		s.shared[kind].put(put[kind])
	}
	for _, kind := range []envoyconfig.Kind{envoyconfig.Listeners, envoyconfig.Routes, envoyconfig.Clusters, envoyconfig.Endpoints} {
		s.shared[kind].drop(gone[kind])
	}
}

// missing adds what a Service does not have any more.
func missing(to [envoyconfig.Kinds][]string, before, after set) [envoyconfig.Kinds][]string {
	for kind := range before {
		for name := range before[kind] {
			if _, still := after[kind][name]; !still {
				to[kind] = append(to[kind], name)
			}
		}
	}
	return to
}

// concerns reports whether a fleet may be sent something of these Services.
func (s *Server) concerns(f *fleet, touched map[join.Key]bool) bool {
	traffic, listed := s.traffic[f.name]
	if !listed {
		return len(touched) > 0
	}
	return slices.ContainsFunc(traffic.Backends(), func(b envoyconfig.Backend) bool { return touched[b.Service] })
}

// want makes a fleet get what it is to have now.
func (s *Server) want(f *fleet, now time.Time) {
	_, f.listed = s.traffic[f.name]
	s.doubt(f, now)
	f.want(s.wanted(f), now)
}

// doubt notes that a fleet has what it does only because nothing newer is known.
func (s *Server) doubt(f *fleet, now time.Time) {
	if f.listed && s.opts.Fleets.Definition(f.name).kept() != "" {
		f.doubted = now
	}
}

// wanted are the resources of a fleet. One with listeners gets the clusters that these
// lead to; one without gets those of every Service that it may use.
func (s *Server) wanted(f *fleet) set {
	traffic, listed := s.traffic[f.name]
	service := func(key join.Key) *join.Service {
		if t := s.services[key]; t != nil && s.uses(f, t.service) {
			return t.service
		}
		return nil
	}
	all := newSet(envoyconfig.Fleet(traffic.Listeners, service, traffic.Settings(s.opts.Settings)))
	for _, b := range traffic.Backends() {
		if cluster, found := b.Cluster(service(b.Service)); found {
			of := s.services[b.Service].envoy
			all[envoyconfig.Clusters][cluster] = of[envoyconfig.Clusters][cluster]
			all[envoyconfig.Endpoints][cluster] = of[envoyconfig.Endpoints][cluster]
		}
	}
	if listed {
		return all
	}
	for _, t := range s.services {
		if s.uses(f, t.service) {
			all.merge(t.envoy)
		}
	}
	return all
}

// uses reports whether a fleet may use a Service. Without certificates a fleet without
// listeners of its own may use all; listeners are written by a team, and lead to another
// team's Services only where these say so.
func (s *Server) uses(f *fleet, service *join.Service) bool {
	_, listed := s.traffic[f.name]
	return s.opts.TLS == nil && !listed || mayUse(f.name, service)
}

// list takes over what fleets do where it changed.
func (s *Server) list(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.traffic
	s.traffic = s.opts.Fleets.current()
	for _, f := range s.fleets {
		is, listed := s.traffic[f.name]
		if was, had := before[f.name]; listed != had || !reflect.DeepEqual(is, was) {
			s.want(f, now)
			if is.Generation > 0 && is.Generation <= was.Generation { // another object of the name
				for c := range f.proxies {
					locked(&c.mu, func() { c.generation = 0 })
				}
			}
		}
	}
}

// step goes on with fleets that wait, and returns when one will not wait any more; zero
// for none.
func (s *Server) step(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var next time.Time
	for _, f := range s.fleets {
		if s.doubt(f, now); f.waits().IsZero() {
			continue
		}
		f.step(now)
		if at := f.waits(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// join gives a client what it may ask for, with its first request: that names the fleet of a
// proxy.
func (s *Server) join(c *client) {
	if c.wants[0] != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from := &s.shared
	if c.protocol == Envoy {
		c.fleet = s.fleetOf(c.name())
		c.fleet.proxies[c] = struct{}{}
		from = &c.fleet.sent
	}
	for kind := range c.wants {
		c.wants[kind] = newInterest(c, from[kind])
	}
}

// fleetOf is the fleet of that name, which is made for its first proxy.
func (s *Server) fleetOf(name string) *fleet {
	f := s.fleets[name]
	if f == nil {
		f = newFleet(name)
		s.fleets[name] = f
		s.opts.Fleets.use(name, true)
		s.want(f, time.Now())
	}
	return f
}

// leave forgets a stream, and a fleet without streams.
func (s *Server) leave(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
	_ = c.keep(-c.kept) // less is never too much
	c.account.streams--
	for _, wants := range c.wants {
		if wants != nil {
			wants.forget()
		}
	}
	f := c.fleet
	if f == nil {
		return
	}
	if delete(f.proxies, c); len(f.proxies) == 0 {
		s.late += f.late
		delete(s.fleets, f.name)
		s.opts.Fleets.use(f.name, false)
	}
	transport.Signal(s.news) // the others may have waited for this one
}
