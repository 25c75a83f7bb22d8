package cluster

import (
	"maps"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// space is what is known of one namespace.
type space struct {
	services map[string]*Service
	// size is how much they say, and left of how many of them ports and annotations are not kept.
	size, left int
	slices     map[string]*cachedSlice
	// labelled are the slices of each Service by their label.
	labelled map[string][]*cachedSlice
	stores   []*Store
	// nobodys is how much is kept of the slices with our label that no store owns.
	nobodys int
}

// slice returns what is known of the slice of that name.
func (s *space) slice(name string) *cachedSlice {
	if s.slices[name] == nil {
		s.slices[name] = &cachedSlice{}
		for _, store := range s.stores {
			if _, _, its := store.target.ParseName(name); its {
				store.own[name], s.slices[name].owner = s.slices[name], store
			}
		}
	}
	return s.slices[name]
}

// drop forgets a slice that does not exist and that no target would make.
func (s *space) drop(name string) {
	if one := s.slices[name]; one.owner == nil && one.content == nil {
		delete(s.slices, name)
	}
}

// tell passes on that something may have changed for the targets of a Service.
func (s *space) tell(service string) {
	for _, store := range s.stores {
		if store.target.Service == service {
			store.tell()
		}
	}
}

// weigh notes how much is kept of a slice that no store owns, and keeps no more than the
// number of its endpoints where that is too much.
func (s *space) weigh(one *cachedSlice) {
	s.nobodys -= one.weight
	one.weight = 0
	if one.owner != nil || one.content == nil || !one.content.ours {
		return
	}
	if one.weight = one.content.size(); s.nobodys+one.weight > mostOfNobodys {
		one.content = one.content.number()
		one.weight = one.content.size()
	}
	s.nobodys += one.weight
}

// changed passes on what a slice publishes beside those of other targets, where that is
// something else than before.
func (s *space) changed(before cachedSlice, is *cachedSlice) {
	s.weigh(is)
	was, now := before.publication(), is.publication()
	if was == now {
		return
	}
	if was.service != now.service {
		s.label(was.service, now.service, is)
	}
	for _, store := range s.stores {
		if before.beside(store) != is.beside(store) {
			store.tell()
		}
	}
}

// label notes that the label of a slice names another Service than before, empty for
// none.
func (s *space) label(was, now string, one *cachedSlice) {
	rest := slices.DeleteFunc(s.labelled[was], func(other *cachedSlice) bool { return other == one })
	if s.labelled[was] = rest; len(rest) == 0 {
		delete(s.labelled, was)
	}
	if now != "" {
		s.labelled[now] = append(s.labelled[now], one)
	}
}

// fitting returns what is kept of a Service in place of what was: no ports and annotations
// where there is no room for them. Services of targets have room of their own.
func (s *space) fitting(before, is *Service) *Service {
	s.size -= before.size()
	if before != nil && before.left {
		s.left--
	}
	if size := s.size + is.size(); is != nil && (size > mostWithTargets || size > mostOfNamespace && !s.fills(is.Key.Service)) {
		is = is.bare()
		s.left++
	}
	s.size += is.size()
	return is
}

// service returns what a target is to know of its Service: where the ports are not kept, those
// of its slices.
func (s *space) service(store *Store) publish.Service {
	is := s.services[store.target.Service]
	service := is.plan()
	if service.Ports = slices.Clone(service.Ports); is == nil || !is.left {
		return service
	}
	for _, name := range slices.Sorted(maps.Keys(store.own)) {
		for _, p := range store.own[name].ports() {
			port := publish.ServicePort{Name: p.Name, Protocol: p.Protocol, Port: p.Number, TargetPort: p.Number, AppProtocol: p.AppProtocol}
			if !slices.Contains(service.Ports, port) {
				service.Ports = append(service.Ports, port)
			}
		}
	}
	return service
}

// fills reports whether a target is the Service of that name.
func (s *space) fills(service string) bool {
	return slices.ContainsFunc(s.stores, func(store *Store) bool { return store.target.Service == service })
}
