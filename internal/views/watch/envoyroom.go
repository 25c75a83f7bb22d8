package watch

import (
	"cmp"
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// mostOf is how many bytes of the Envoys of one namespace are kept: whoever may write there
// decides how much they say.
const mostOf = 16 << 20

// mostNamed is how many Envoys of one namespace are known by name that there is no room for,
// and of which nothing is in effect. All others together are known as one.
const mostNamed = 1000

// bare reports whether nothing of an object is kept but its name.
func (o object) bare() bool { return o.refused > 0 && o.size == 0 }

// refuse leaves of an object that there is no room for it.
func (o object) refuse() object {
	o.refused = cmp.Or(o.refused, o.size)
	o.size, o.Traffic.Listeners = 0, nil
	o.Problem = fmt.Errorf("the Envoys of namespace %s take more than the %d MiB that one namespace may take; delete Envoys, or remove routes", o.namespace, mostOf>>20)
	return o
}

// set takes over an object, as far as there is room for it. What is in effect stays, so it
// counts while a newer version is not.
func (c *scope) set(o object) {
	if o.own {
		c.remove(o)
		return
	}
	before := c.all[o.name].size
	if o.Problem != nil {
		o.size = max(o.size, before)
	}
	if o.refused > 0 || o.size > before && c.used[o.namespace]-before+o.size > mostOf {
		o = o.refuse()
		o.size = before
	}
	if o.bare() && !c.all[o.name].bare() && c.named[o.namespace] >= mostNamed {
		o.name, o.Traffic.Generation = envoyconfig.Others(o.name), 0
	}
	c.remove(o)
	if c.used[o.namespace] += o.size; o.bare() {
		c.named[o.namespace]++
	}
	c.all[o.name] = o
}

// remove forgets an object that is gone.
func (c *scope) remove(o object) {
	before := c.all[o.name]
	if c.used[o.namespace] -= before.size; c.used[o.namespace] == 0 {
		delete(c.used, o.namespace)
	}
	if before.bare() {
		c.named[o.namespace]--
	}
	if c.named[o.namespace] == 0 {
		delete(c.named, o.namespace)
	}
	delete(c.all, o.name)
}

// listing returns what is applied to each object of one list as it comes, so that a list
// which is not complete yet is bounded too. Twice the room is enough to choose from.
func (c *scope) listing() func(object) object {
	used := make(map[string]int)
	return func(o object) object {
		c.source.mu.Lock()
		defer c.source.mu.Unlock()
		if o.size > c.all[o.name].size && used[o.namespace]+o.size > 2*mostOf {
			o = o.refuse()
		}
		used[o.namespace] += o.size
		return o
	}
}

// roomAgain reports whether half of the room of a namespace is free, and something that was
// refused would fit in.
func (c *scope) roomAgain(namespace string) bool {
	used := c.used[namespace]
	if used > mostOf/2 {
		return false
	}
	for _, o := range c.all {
		if o.namespace == namespace && o.refused > 0 && used-o.size+o.refused <= mostOf {
			return true
		}
	}
	return false
}
