package cache

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// Input is one Service or slice as a watch tells of it.
type Input struct {
	Key      join.Key
	Revision Revision
	// Service is nil for one that is not selected, Slice for one that says nothing.
	Service *join.Service
	Slice   *join.Slice
	// Hidden says of a Service that it is there and not selected.
	Hidden bool
	// refused is how much an object says that there was no room for, 0 for one that fits.
	refused int
}

// Set takes over an object that a watch tells of. One that is not newer than what the
// watch told before, or older than There, has no effect. It reports whether another list is
// wanted: where the last one was wrong, as There does, and where there is room again for what
// was refused.
func (c *Cache) Set(scope int, kind Kind, in Input) (again bool) {
	c.input.Lock()
	defer c.input.Unlock()
	unconfirmed, before := UnconfirmedObject{scope, kind, in.Key}, c.known[kind][in.Key]
	_, wrong := c.unconfirmed[unconfirmed]
	if in.Revision <= c.scopes[scope].reached[kind] || !wrong && in.Revision < before.Revision {
		return false
	}
	if c.trusted(unconfirmed) {
		c.scopes[scope].wrong[kind] = true
	}
	c.publish(step{scope: scope, kind: kind, revision: in.Revision, news: []Input{in}})
	return wrong || before.size() > in.size() && c.roomAgain(kind, in.Key.Namespace)
}

// Delete forgets an object that a watch says is gone. It reports what Set does.
func (c *Cache) Delete(scope int, kind Kind, in Input) (again bool) {
	in.Service, in.Slice, in.Hidden = nil, nil, false
	return c.Set(scope, kind, in)
}

// trusted takes an object from the unconfirmed ones, and reports whether it was one.
func (c *Cache) trusted(unconfirmed UnconfirmedObject) bool {
	_, was := c.unconfirmed[unconfirmed]
	delete(c.unconfirmed, unconfirmed)
	return was
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
// asked for again. What is missing in it without a word stays, unconfirmed.
func (c *Cache) Replace(scope int, kind Kind, all []Input, revision Revision) error {
	c.input.Lock()
	defer c.input.Unlock()
	s := &c.scopes[scope]
	back := revision < s.reached[kind]
	if back && !s.backwards[kind] {
		s.backwards[kind] = true
		return ErrWentBack
	}
	s.backwards[kind], s.wrong[kind] = false, false
	listed := make(map[join.Key]bool, len(all))
	news := make([]Input, 0, len(all))
	for _, in := range all {
		listed[in.Key] = true
		// On a restored server an object may be an older one, and one that was missing made anew.
		missed, known := c.trusted(UnconfirmedObject{scope, kind, in.Key}), c.known[kind][in.Key].Revision
		if back || missed || in.refused > 0 || in.Revision > known || in.Revision < known && known <= revision {
			news = append(news, in)
		}
	}
	c.forgetRefused(scope, kind, listed)
	// Those that grow least come first, and are kept where there is no room for all.
	growth := func(in Input) int { return in.size() - c.known[kind][in.Key].size() }
	slices.SortFunc(news, func(a, b Input) int { return cmp.Compare(growth(a), growth(b)) })
	// Nothing is made of hidden ones, so a list is believed at once.
	maps.DeleteFunc(c.hidden, func(key join.Key, of int) bool { return kind == Services && of == scope && !listed[key] })
	for key, known := range c.known[kind] {
		if known.scope == scope && !listed[key] {
			c.unconfirmed[UnconfirmedObject{scope, kind, key}] = struct{}{}
		}
	}
	c.publish(step{scope: scope, kind: kind, revision: revision, news: news, list: true, back: back})
	return nil
}

// Gone says that the server has confirmed that an unconfirmed object is gone. It reports
// whether another list is wanted, because there is room again for what was refused.
func (c *Cache) Gone(unconfirmed UnconfirmedObject) (again bool) {
	return c.resolve(unconfirmed, Input{Key: unconfirmed.Key}, false)
}

// There says that the server has an unconfirmed object, as it is now. It reports whether
// that is news. Then the list that left it out counts as wrong, and is to be asked for
// again: it may have left out more, of which nothing is known here.
func (c *Cache) There(unconfirmed UnconfirmedObject, in Input) (wrong bool) {
	return c.resolve(unconfirmed, in, true)
}

// resolve takes over what the server says of an unconfirmed object, if it still is one. It
// reports what Set does.
func (c *Cache) resolve(unconfirmed UnconfirmedObject, in Input, wrong bool) (again bool) {
	c.input.Lock()
	defer c.input.Unlock()
	if !c.trusted(unconfirmed) {
		return false
	}
	s := &c.scopes[unconfirmed.Scope]
	s.wrong[unconfirmed.Kind] = s.wrong[unconfirmed.Kind] || wrong
	c.publish(step{scope: unconfirmed.Scope, kind: unconfirmed.Kind, revision: s.reached[unconfirmed.Kind], news: []Input{in}})
	return wrong || c.roomAgain(unconfirmed.Kind, unconfirmed.Key.Namespace)
}

// Asks reports whether the server is to be asked about an unconfirmed object: not if the list that
// left it out is wrong, because another list follows.
func (c *Cache) Asks(unconfirmed UnconfirmedObject) bool {
	c.input.Lock()
	defer c.input.Unlock()
	_, still := c.unconfirmed[unconfirmed]
	return still && !c.scopes[unconfirmed.Scope].wrong[unconfirmed.Kind]
}

// Unconfirmed returns what a complete list did not have, sorted. It stays until the
// watch, a list, Gone or There tells of it.
func (c *Cache) Unconfirmed() []UnconfirmedObject {
	c.input.Lock()
	defer c.input.Unlock()
	return slices.SortedFunc(maps.Keys(c.unconfirmed), func(a, b UnconfirmedObject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), compareKeys(a.Key, b.Key))
	})
}

func compareKeys(a, b join.Key) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// hasUnconfirmed reports whether a kind has unconfirmed objects.
func (c *Cache) hasUnconfirmed(scope int, kind Kind) bool {
	for unconfirmed := range c.unconfirmed {
		if unconfirmed.Scope == scope && unconfirmed.Kind == kind {
			return true
		}
	}
	return false
}
