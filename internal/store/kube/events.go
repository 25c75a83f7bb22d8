package kube

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// feed takes what the watch of one kind tells, reduced to what is kept of each object.
// The functions but reduce are called under the lock.
type feed[T any] struct {
	fresh *freshness
	lock  sync.Locker
	// reduce gets an object, or what was made of it before.
	reduce       func(object any) (T, error)
	update, gone func(T)
	replace      func(all []T, revision string)
}

// Add takes over an object that the watch tells of.
func (f *feed[T]) Add(object any) error { return f.take(object, f.update) }

// Update takes over an object that changed.
func (f *feed[T]) Update(object any) error { return f.take(object, f.update) }

// Delete takes over that an object is gone, or that the watch selects it no longer.
func (f *feed[T]) Delete(object any) error { return f.take(object, f.gone) }

func (f *feed[T]) take(object any, how func(T)) error {
	reduced, err := f.reduce(object)
	if err != nil {
		return err
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	how(reduced)
	return nil
}

// Replace takes over a complete list.
func (f *feed[T]) Replace(objects []any, revision string) error {
	all := make([]T, 0, len(objects))
	for _, object := range objects {
		reduced, err := f.reduce(object)
		if err != nil {
			return err
		}
		all = append(all, reduced)
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	f.fresh.synced() // whoever waits for it gets the lock after the list was taken over
	f.replace(all, revision)
	return nil
}

// Transformer is applied to what is kept until a list is complete.
func (f *feed[T]) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return f.reduce(object) }
}

// Resync has nothing to do: it is never called.
func (f *feed[T]) Resync() error { return nil }

// slicesFeed takes what the watch of slices tells.
func (s *scope) slicesFeed() *feed[*content] {
	return &feed[*content]{
		fresh: &s.slices, lock: &s.mu, reduce: s.reduceSlice, replace: s.replaceSlices,
		update: func(c *content) {
			s.watchedSlice(c.namespace, c.name, func(one *cachedSlice) { one.set(c, c.version) })
		},
		gone: func(c *content) {
			s.watchedSlice(c.namespace, c.name, func(one *cachedSlice) { s.gone(one, c.version) })
		},
	}
}

func (s *scope) reduceSlice(object any) (*content, error) {
	switch o := object.(type) {
	case *content:
		return o, nil
	case *discoveryv1.EndpointSlice:
		return pack(o, s.hub.options.ManagedBy)
	}
	return nil, fmt.Errorf("the watch of %s told of a %T", s.slices.what, object)
}

func (s *scope) replaceSlices(all []*content, revision string) {
	listed := make(map[[2]string]bool, len(all))
	for _, c := range all {
		listed[[2]string{c.namespace, c.name}] = true
	}
	for namespace, space := range s.spaces {
		for name, one := range space.slices {
			if !follows(revision, one.revision) {
				s.mark(one)
			}
			if !listed[[2]string{namespace, name}] {
				s.watchedSlice(namespace, name, s.missing)
			}
		}
	}
	for _, c := range all {
		s.watchedSlice(c.namespace, c.name, func(one *cachedSlice) { one.set(c, revision) })
	}
	signal(s.hub.changed)
}

// gone takes over that a slice left the watch. One that selects slices by label does not
// say whether the slice exists.
func (s *scope) gone(one *cachedSlice, revision string) {
	if s.hub.options.Only != nil {
		s.missing(one)
		return
	}
	one.set(nil, revision)
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
func (s *scope) watchedSlice(namespace, name string, take func(*cachedSlice)) {
	space := s.space(namespace)
	one := space.slice(name)
	before := *one
	take(one)
	if one.owner != nil && !one.writing && (one.dirty != before.dirty || versionOf(one.content) != versionOf(before.content)) {
		signal(one.owner.changed)
	}
	space.tellBeside(before, one)
	space.drop(name)
	s.tidy(namespace)
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
	for _, one := range s.space(only.Namespace).slices {
		if one.owner != nil && one.content != nil && one.content.service != only.Service {
			s.mark(one)
			signal(one.owner.changed)
		}
	}
}

// servicesFeed takes what the watch of Services tells.
func (s *scope) servicesFeed() *feed[*Service] {
	return &feed[*Service]{
		fresh: &s.services, lock: &s.mu, reduce: s.reduceService, replace: s.replaceServices,
		update: func(o *Service) { s.watchedService(o.Namespace, o.Name, o) },
		gone:   func(o *Service) { s.watchedService(o.Namespace, o.Name, nil) },
	}
}

func (s *scope) reduceService(object any) (*Service, error) {
	switch o := object.(type) {
	case *Service:
		return o, nil
	case *corev1.Service:
		return newService(o), nil
	}
	return nil, fmt.Errorf("the watch of %s told of a %T", s.services.what, object)
}

func (s *scope) replaceServices(all []*Service, _ string) {
	listed := make(map[[2]string]bool, len(all))
	for _, service := range all {
		listed[[2]string{service.Namespace, service.Name}] = true
		s.watchedService(service.Namespace, service.Name, service)
	}
	for namespace, space := range s.spaces {
		for name := range space.services {
			if !listed[[2]string{namespace, name}] {
				s.watchedService(namespace, name, nil)
			}
		}
	}
	signal(s.hub.changed)
}

// watchedService takes over what the watch says of a Service, nil for one that is gone,
// and passes on what is news: a Service's status may change often.
func (s *scope) watchedService(namespace, name string, is *Service) {
	space := s.space(namespace)
	before := space.services[name]
	if is == nil {
		delete(space.services, name)
	} else {
		space.services[name] = is
	}
	if !before.same(is) {
		signal(s.hub.changed)
	}
	if !before.plan().Same(is.plan()) {
		space.tell(name)
	}
	s.tidy(namespace)
}
