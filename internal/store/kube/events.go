package kube

import (
	"errors"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// The methods by which the reflector fills the cache, which owns the objects from
// then on.

var errForeignType = errors.New("the watch of slices brought something else")

// Add takes over a slice that the watch tells of.
func (c *sliceCache) Add(object any) error { return c.Update(object) }

// Update takes over a slice that changed.
func (c *sliceCache) Update(object any) error {
	slice, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return errForeignType
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched(slice.Name, slice, slice.ResourceVersion)
	return nil
}

// Delete takes over that a slice is gone, or that the watch selects it no longer.
func (c *sliceCache) Delete(object any) error {
	slice, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return errForeignType
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched(slice.Name, nil, slice.ResourceVersion)
	return nil
}

// Replace takes over a complete list.
func (c *sliceCache) Replace(objects []any, revision string) error {
	listed := make(map[string]*discoveryv1.EndpointSlice, len(objects))
	for _, object := range objects {
		slice, ok := object.(*discoveryv1.EndpointSlice)
		if !ok {
			return errForeignType
		}
		listed[slice.Name] = slice
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.others {
		if listed[name] == nil {
			c.watched(name, nil, revision)
		}
	}
	for name, s := range c.slices {
		if !follows(revision, s.revision) {
			c.mark(s)
		}
		if listed[name] == nil {
			c.watched(name, nil, revision)
		}
	}
	for name, slice := range listed {
		c.watched(name, slice, revision)
	}
	c.freshness.synced()
	return nil
}

// Resync has nothing to do: it is never called.
func (c *sliceCache) Resync() error { return nil }

// watched takes over what the watch says of one slice at a revision, nil for one that
// it does not select, and passes on what is news. The echo of a write of ours is none,
// whether it comes after the write's answer or before.
func (c *sliceCache) watched(name string, object *discoveryv1.EndpointSlice, revision string) {
	if _, _, ours := c.target.ParseName(name); !ours {
		c.watchedOther(name, object)
		return
	}
	s := c.slice(name)
	before := *s
	switch {
	case object != nil:
		s.set(object, revision)
	case s.object != nil:
		c.mark(s)
	}
	if !s.writing && (s.dirty != before.dirty || versionOf(s.object) != versionOf(before.object)) {
		c.notify()
	}
}

// watchedOther takes over what a slice of another name publishes, if that is anything;
// of the slice itself nothing is kept.
func (c *sliceCache) watchedOther(name string, object *discoveryv1.EndpointSlice) {
	var publishes plan.Beside
	if object != nil {
		publishes = manifest.ToBeside(object, c.target)
	}
	before := c.others[name]
	delete(c.others, name)
	if publishes.Endpoints > 0 {
		c.others[name] = publishes
	}
	if c.others[name] != before {
		c.notify()
	}
}
