package viewcache

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/view"
)

// Input is one Service or slice as a watch tells of it.
type Input struct {
	Key      view.Key
	Revision Revision
	// Service is nil for one that is not selected, Slice for one that says nothing.
	Service *view.Service
	Slice   *view.Slice
}

// said reports whether there is anything to remember.
func (i Input) said() bool { return i.Service != nil || i.Slice != nil }

// Set takes over an object that a watch tells of. One that is not newer than what the
// watch told before has no effect.
func (c *Cache) Set(scope int, kind Kind, in Input) { c.event(scope, kind, in) }

// Delete forgets an object that a watch says is gone.
func (c *Cache) Delete(scope int, kind Kind, in Input) {
	in.Service, in.Slice = nil, nil
	c.event(scope, kind, in)
}

func (c *Cache) event(scope int, kind Kind, in Input) {
	c.input.Lock()
	defer c.input.Unlock()
	if in.Revision <= c.scopes[scope].reached[kind] {
		return
	}
	delete(c.suspects, Suspect{scope, kind, in.Key})
	c.publish(step{scope: scope, kind: kind, revision: in.Revision, news: []Input{in}})
}

// Bookmark says that a watch is as far as that and told everything.
func (c *Cache) Bookmark(scope int, kind Kind, revision Revision) {
	c.input.Lock()
	defer c.input.Unlock()
	if revision > c.scopes[scope].reached[kind] {
		c.publish(step{scope: scope, kind: kind, revision: revision})
	}
}

// Replace takes over a complete list. It returns ErrWentBack for one that is to be
// asked for again. What is missing in it without a word stays, as a suspect.
func (c *Cache) Replace(scope int, kind Kind, all []Input, revision Revision) error {
	c.input.Lock()
	defer c.input.Unlock()
	s := &c.scopes[scope]
	back := revision < s.reached[kind]
	if back && !s.backwards[kind] {
		s.backwards[kind] = true
		return ErrWentBack
	}
	s.backwards[kind] = false
	listed := make(map[view.Key]bool, len(all))
	news := make([]Input, 0, len(all))
	for _, in := range all {
		listed[in.Key] = true
		delete(c.suspects, Suspect{scope, kind, in.Key})
		if known := c.known[kind][in.Key]; known == nil || back || in.Revision > known.revision {
			news = append(news, in)
		}
	}
	for key, known := range c.known[kind] {
		switch {
		case known.scope != scope || listed[key]:
		case c.matters(kind, known):
			c.suspects[Suspect{scope, kind, key}] = struct{}{}
		default:
			news = append(news, Input{Key: key, Revision: revision})
		}
	}
	c.publish(step{scope: scope, kind: kind, revision: revision, news: news, list: true, back: back})
	return nil
}

// matters reports whether something that is published depends on a known object.
func (c *Cache) matters(kind Kind, known *known) bool {
	if kind == Services {
		return true
	}
	s := c.services[view.Key{Namespace: known.slice.Namespace, Name: known.slice.Service}]
	return s != nil && s.input != nil
}

// Gone says that the server has confirmed that a suspect is gone.
func (c *Cache) Gone(suspect Suspect) { c.resolve(suspect, Input{Key: suspect.Key, Revision: 1}) }

// There says that the server still has a suspect, as it is now. It reports whether the
// list that left it out was wrong, and so is to be asked for again.
func (c *Cache) There(suspect Suspect, in Input) (wrong bool) {
	at, still := c.resolve(suspect, in)
	return still && in.Revision <= at
}

// resolve takes over what the server says of a suspect, and returns how far the watch
// is, and whether it still was a suspect.
func (c *Cache) resolve(suspect Suspect, in Input) (at Revision, still bool) {
	c.input.Lock()
	defer c.input.Unlock()
	if _, still = c.suspects[suspect]; !still {
		return 0, false
	}
	delete(c.suspects, suspect)
	at = c.scopes[suspect.Scope].reached[suspect.Kind]
	c.publish(step{scope: suspect.Scope, kind: suspect.Kind, revision: at, news: []Input{in}})
	return at, true
}

// Suspects returns what a complete list did not have, sorted. It stays until the
// watch, a list, Gone or There tells of it.
func (c *Cache) Suspects() []Suspect {
	c.input.Lock()
	defer c.input.Unlock()
	return slices.SortedFunc(maps.Keys(c.suspects), func(a, b Suspect) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), compareKeys(a.Key, b.Key))
	})
}

func compareKeys(a, b view.Key) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// holding reports whether a kind has suspects.
func (c *Cache) holding(scope int, kind Kind) bool {
	for suspect := range c.suspects {
		if suspect.Scope == scope && suspect.Kind == kind {
			return true
		}
	}
	return false
}
