package cache

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// mostOf is how many bytes of the Services and of the slices of one namespace are kept:
// whoever may write there decides how much they say. A slice counts with the views that are
// made of it.
var mostOf = [kinds]int{Services: 16 << 20, Slices: 64 << 20}

// space is how much is kept of one namespace.
type space struct {
	size [kinds]int
	// refused is what there is no room for, by name, with how much it says.
	refused [kinds]map[string]int
}

// full reports whether something is refused.
func (s *space) full() bool { return s != nil && len(s.refused[Services])+len(s.refused[Slices]) > 0 }

// crowd is a namespace of which something was refused. Another replica may have refused
// something else, so readers of the namespace go on from no token meanwhile.
type crowd struct {
	scope int
	full  bool
	// floor is the first position that can be gone on from once there is room again.
	floor Position
}

// fitting returns what is kept of an object in place of what was.
func (c *Cache) fitting(scope int, kind Kind, in, before Input) Input {
	s := c.spaces[in.Key.Namespace]
	if s == nil {
		s = &space{refused: [kinds]map[string]int{{}, {}}}
		c.spaces[in.Key.Namespace] = s
	}
	s.size[kind] -= before.size()
	delete(s.refused[kind], in.Key.Name)
	if in.refused > 0 || in.size() > before.size() && s.size[kind]+in.size() > mostOf[kind] {
		in = before.instead(in)
		s.refused[kind][in.Key.Name] = in.refused
		c.mu.Lock()
		c.crowds[in.Key.Namespace] = crowd{scope: scope, full: true}
		c.mu.Unlock()
	}
	s.size[kind] += in.size()
	if s.size == [kinds]int{} && !s.full() {
		delete(c.spaces, in.Key.Namespace)
	}
	return in
}

// size is how many bytes are kept of an object.
func (i Input) size() int { return i.Service.Size() + i.Slice.Size() }

// instead is what is kept of an object that there is no room for: a Service as it was, and
// of a slice what it said before and still says. It is older than whatever comes next.
func (i Input) instead(in Input) Input {
	in.refused = cmp.Or(in.refused, in.size())
	in.Revision, in.Service, in.Slice, in.Hidden = 0, i.Service, in.Slice.Within(i.Slice), false
	return in
}

// Listing returns what is applied to each object of one list as it comes, so that a list
// which is not complete yet is bounded too. Twice the room is enough to choose from.
func (c *Cache) Listing(kind Kind) func(Input) Input {
	// What is large is counted apart, so that it takes no room of what is not.
	type share struct {
		namespace string
		large     bool
	}
	used := make(map[share]int)
	return func(in Input) Input {
		c.input.Lock()
		defer c.input.Unlock()
		before := c.known[kind][in.Key]
		size := in.size()
		of := share{in.Key.Namespace, size > mostOf[kind]/8}
		if size > before.size() && used[of]+size > 2*mostOf[kind] {
			in = before.instead(in)
		}
		used[of] += in.size()
		return in
	}
}

// recount brings up to date of which namespaces something is refused.
func (c *Cache) recount() {
	for namespace, crowd := range c.crowds {
		at := &c.scopes[crowd.scope]
		switch {
		case crowd.full:
			crowd.full, crowd.floor = c.spaces[namespace].full(), at.reached
			c.crowds[namespace] = crowd
		case at.floor.covers(crowd.floor):
			delete(c.crowds, namespace)
		}
	}
}

// forgetRefused forgets what was refused and is not in a complete list.
func (c *Cache) forgetRefused(scope int, kind Kind, listed map[join.Key]bool) {
	for namespace, crowd := range c.crowds {
		if s := c.spaces[namespace]; crowd.scope == scope && s != nil {
			maps.DeleteFunc(s.refused[kind], func(name string, _ int) bool { return !listed[join.Key{Namespace: namespace, Name: name}] })
		}
	}
}

// roomAgain reports whether half of the room of a namespace is free, and something that was
// refused would fit in.
func (c *Cache) roomAgain(kind Kind, namespace string) bool {
	s := c.spaces[namespace]
	if !s.full() || s.size[kind] > mostOf[kind]/2 {
		return false
	}
	for _, size := range s.refused[kind] {
		if s.size[kind]+size <= mostOf[kind] {
			return true
		}
	}
	return false
}

// Crowded are the namespaces of which not all is kept, sorted.
func (c *Cache) Crowded() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var all []string
	for namespace, crowd := range c.crowds {
		if crowd.full {
			all = append(all, namespace)
		}
	}
	slices.Sort(all)
	return all
}

// Refuses reports whether there is no room for a Service.
func (c *Cache) Refuses(key join.Key) bool {
	c.input.Lock()
	defer c.input.Unlock()
	s := c.spaces[key.Namespace]
	return s != nil && s.refused[Services][key.Name] > 0
}

// crowded reports whether something is refused that a reader selects in a scope.
func (c *Cache) crowded(selection Selection, scope int) bool {
	for namespace, crowd := range c.crowds {
		if crowd.full && crowd.scope == scope && selection.Namespace(namespace) {
			return true
		}
	}
	return false
}
