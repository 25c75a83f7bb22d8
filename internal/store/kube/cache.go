package kube

import (
	"maps"
	"slices"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// sliceCache is what is known of the slices of our names. Of each the newest revision
// holds, wherever it comes from: the watch, the answer to a write of ours, or a read. So
// a watch that lags takes nothing back.
//
// A slice is dirty when it may be anything by now. It takes whatever is told of it
// next, and stays dirty until a read that began after the mark says what it is:
//
//	a write of it failed                  the write may have been carried out
//	it left the watch                     it is gone, or has lost its label
//	it is newer than a complete list      it was written meanwhile, or the server was
//	                                      restored and its revisions began anew
//	the watch does not select it          it is read again from time to time
type sliceCache struct {
	target    plan.Target
	notify    func()
	freshness freshness

	mu     sync.Mutex
	slices map[string]*cachedSlice
	others map[string]plan.Beside // what slices of other names publish
	marks  int                    // how many dirty marks there were
}

// cachedSlice is what is known of one slice.
type cachedSlice struct {
	object   *discoveryv1.EndpointSlice // never changed in place; nil where there is none
	revision string                     // up to which that is known, empty where it is not
	dirty    int                        // the number of its last mark, 0 while it is clean
	// writing says that a write of ours is under way: what the watch tells of the slice
	// is no news until it is known what came of the write.
	writing bool
}

func newSliceCache(target plan.Target, notify func()) *sliceCache {
	return &sliceCache{
		target: target, notify: notify, freshness: newFreshness("slices"),
		slices: make(map[string]*cachedSlice), others: make(map[string]plan.Beside),
	}
}

// known returns the slices of our names, and what others publish, in no order.
func (c *sliceCache) known() (objects []*discoveryv1.EndpointSlice, beside []plan.Beside) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slices {
		if s.object != nil {
			objects = append(objects, s.object)
		}
	}
	return objects, slices.Collect(maps.Values(c.others))
}

// dirty returns the marks of the slices that have to be read.
func (c *sliceCache) dirty() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	marks := make(map[string]int)
	for name, s := range c.slices {
		if s.dirty != 0 {
			marks[name] = s.dirty
		}
	}
	return marks
}

// clean takes over what was read because of a mark.
func (c *sliceCache) clean(name string, mark int, object *discoveryv1.EndpointSlice, revision string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.slice(name)
	s.set(object, revision)
	if s.dirty == mark {
		s.dirty = 0
	}
}

// begin is called before a write of the slice, and returns what the slice is; end is
// called after it, with the server's answer, nil where it failed.
func (c *sliceCache) begin(name string) *discoveryv1.EndpointSlice {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.slice(name)
	s.writing = true
	return s.object
}

// end passes on what the watch told meanwhile, unless that was the write itself.
func (c *sliceCache) end(name string, base, answer *discoveryv1.EndpointSlice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, expected := c.slice(name), base
	s.writing = false
	if answer != nil {
		s.set(answer, answer.ResourceVersion)
		expected = answer
	}
	if s.dirty != 0 || versionOf(s.object) != versionOf(expected) {
		c.notify()
	}
	if answer == nil {
		c.mark(s)
	}
}

// markUnselected makes the next Load read the slices that the watch does not select,
// so that one that goes or is repaired is noticed.
func (c *sliceCache) markUnselected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slices {
		if s.object != nil && s.object.Labels[discoveryv1.LabelServiceName] != c.target.Service {
			c.mark(s)
			c.notify()
		}
	}
}

// slice returns what is known of the slice of that name.
func (c *sliceCache) slice(name string) *cachedSlice {
	if c.slices[name] == nil {
		c.slices[name] = &cachedSlice{}
	}
	return c.slices[name]
}

func (c *sliceCache) mark(s *cachedSlice) {
	c.marks++
	s.dirty, s.revision = c.marks, ""
}

// set takes over what the slice is at a revision, unless something newer is known.
func (s *cachedSlice) set(object *discoveryv1.EndpointSlice, revision string) {
	if !follows(revision, s.revision) {
		return
	}
	if object != nil {
		object.ManagedFields = nil
	}
	s.object, s.revision = object, revision
}

// follows reports whether revision a is b or later. Anything follows what is not known,
// and revisions that cannot be compared follow each other, so that nothing is kept for
// ever.
func follows(a, b string) bool {
	if b == "" {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order >= 0
}

// versionOf is the object's, empty when there is none.
func versionOf(object *discoveryv1.EndpointSlice) string {
	if object == nil {
		return ""
	}
	return object.ResourceVersion
}
