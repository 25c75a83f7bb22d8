package cluster

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// slicesFeed takes what the watch of slices tells.
func (s *scope) slicesFeed() *kube.Feed[*discoveryv1.EndpointSlice, *content] {
	return &kube.Feed[*discoveryv1.EndpointSlice, *content]{
		Lock: &s.mu, SetAll: s.replaceSlices, Listing: s.listingSlices,
		Read: func(o *discoveryv1.EndpointSlice) (*content, error) { return pack(o, s.hub.options.ManagedBy) },
		Set: func(c *content) {
			s.watchedSlice(c.Slice, func(one *cachedSlice) { one.set(c, c.version) })
		},
		Remove: func(c *content) {
			s.watchedSlice(c.Slice, func(one *cachedSlice) { s.gone(one, c.version) })
		},
	}
}

func (s *scope) replaceSlices(all []*content, revision string) error {
	s.slices.listed() // whoever waits for it gets the lock after the list was taken over
	listed := make(map[string]bool, len(all))
	for _, c := range all {
		listed[c.Slice] = true
	}
	s.space.lost = false
	for _, store := range s.space.stores {
		store.unlisted = false
	}
	for name, one := range s.space.slices {
		if follows(revision, one.revision) {
			one.over()
		} else {
			s.mark(one)
		}
		if !listed[name] {
			s.watchedSlice(name, s.missing)
		}
	}
	for _, c := range all {
		s.watchedSlice(c.Slice, func(one *cachedSlice) {
			if one.set(c, revision); one.owner != nil && c.counted { // its target came while the list was read
				s.mark(one)
			}
		})
	}
	kube.Signal(s.hub.changed)
	return nil
}

// gone takes over that a slice left the watch. One that selects slices by label does not
// say whether the slice exists.
func (s *scope) gone(one *cachedSlice, revision string) {
	if s.hub.options.Only != nil {
		s.missing(one)
		return
	}
	one.set(nil, revision)
	if one.revision == revision {
		one.over()
	}
}

// missing takes over that a slice was not told of. For a target that is no proof that
// there is none.
func (s *scope) missing(one *cachedSlice) {
	switch {
	case one.owner == nil:
		one.content = nil
	case one.content != nil:
		s.mark(one)
	}
}

// watchedSlice takes over what the watch says of one slice, and passes on what is news.
// The echo of a write of ours is none, whether it comes after the write's answer or
// before.
func (s *scope) watchedSlice(name string, take func(*cachedSlice)) {
	space := &s.space
	one := space.slice(name)
	before, lost := *one, space.lost
	take(one)
	if one.owner != nil && !one.writing && (one.dirty != before.dirty || versionOf(one.content) != versionOf(before.content)) {
		one.owner.tell()
	}
	space.changed(before, one)
	space.drop(name)
	if space.lost != lost {
		kube.Signal(s.hub.changed)
	}
	if space.lost && space.nobodys < space.room {
		s.slices.ListAgain()
	}
}

// markUnselected makes the next Load read the slices that the watch of an Only target
// does not select, so that one that goes or is mended is noticed.
func (s *scope) markUnselected() {
	only := s.hub.options.Only
	if only == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.space.slices {
		if one.owner != nil && one.content != nil && one.content.Service != only.Service {
			s.mark(one)
			one.owner.tell()
		}
	}
}

// servicesFeed takes what the watch of Services tells.
func (s *scope) servicesFeed() *kube.Feed[*corev1.Service, *Service] {
	return &kube.Feed[*corev1.Service, *Service]{
		Lock: &s.mu, SetAll: s.replaceServices, Listing: s.listing,
		Read:   func(o *corev1.Service) (*Service, error) { return newService(o), nil },
		Set:    func(o *Service) { s.watchedService(o.Key.Service, o) },
		Remove: func(o *Service) { s.watchedService(o.Key.Service, nil) },
	}
}

func (s *scope) replaceServices(all []*Service, _ string) error {
	s.services.listed()
	listed := make(map[string]bool, len(all))
	for _, service := range all {
		listed[service.Key.Service] = true
	}
	for name := range s.space.services {
		if !listed[name] {
			s.watchedService(name, nil)
		}
	}
	// Those that say little come first, and are known where there is no room for all; those that
	// were cut come last.
	least := func(is *Service) int {
		if is.left {
			return math.MaxInt
		}
		return is.size()
	}
	slices.SortFunc(all, func(a, b *Service) int { return cmp.Compare(least(a), least(b)) })
	for _, service := range all {
		s.watchedService(service.Key.Service, service)
	}
	kube.Signal(s.hub.changed)
	return nil
}

// watchedService takes over what the watch says of a Service, nil for one that is gone,
// and passes on what is news: a Service's status may change often.
func (s *scope) watchedService(name string, is *Service) {
	space := &s.space
	before := space.services[name]
	if is = space.fitting(before, is); is == nil {
		delete(space.services, name)
	} else {
		space.services[name] = is
	}
	if !before.same(is) {
		kube.Signal(s.hub.changed)
	}
	if !before.plan().Same(is.plan()) {
		space.tell(name)
	}
	if space.left > 0 && space.size < mostOfNamespace/2 {
		s.services.ListAgain()
	}
}
