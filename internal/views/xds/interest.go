package xds

import (
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// interest is what a client wants of a collection and what it has. All access is under the
// lock of the collection.
type interest struct {
	wants func(name string) bool
	// kept are clusters, and listeners of a fleet that nothing names, that the client had
	// when it connected and that are gone. It is told so later: its routes may still lead
	// to the clusters.
	kept map[string]struct{}
	// has are the versions that the client has once it has taken all answers.
	has map[string]string
	// changes says that an answer has only what changed, and names what is gone. In the
	// state of the world clusters and listeners that an answer leaves out are gone; other
	// kinds have no way to say so.
	changes bool

	// news are names to look at for the next answer; anew says that it is every name.
	news map[string]look
	anew bool
	// most is how many resources the next answer has at most, 0 for any number.
	most int
	// send answers a request that waits; nil while none does. It is called once.
	send func(reply)
}

// look is why a name is looked at.
type look int

const (
	// changed: the resource is another one than it was.
	changed look = iota
	// asked: the client asks for it, and is told where there is none.
	asked
	// again: the client asks for it, and is sent it whatever it has.
	again
)

// mostNews is how many names are remembered for a client that says nothing.
const mostNews = 1024

// note remembers a name to look at.
func (i *interest) note(name string, why look) {
	if i.news == nil {
		i.news = make(map[string]look)
	}
	if i.news[name] = max(i.news[name], why); why == changed && len(i.news) > mostNews {
		i.news, i.anew = nil, true
	}
}

// leave leaves resources for a later answer.
func (i *interest) leave(names []string) {
	for _, name := range names {
		i.has[name] = ""
		i.note(name, changed)
	}
}

// reply is what a request is answered with.
type reply struct {
	resources []*discoveryv3.Resource
	removed   []string
	// has are the versions that the client has after it.
	has map[string]string
}

// newest are the names of what a client does not have in the newest version, and of what it
// has and is not to have any more. Both are sorted. They are news once.
func (c *collection) newest(i *interest) (put, removed []string) {
	var f findings
	for name, why := range i.news {
		f.look(c, i, name, why)
	}
	if i.anew {
		for name := range c.all {
			if _, done := i.news[name]; !done {
				f.look(c, i, name, changed)
			}
		}
		for name := range i.has {
			if _, done := i.news[name]; !done && c.all[name] == nil {
				f.look(c, i, name, changed)
			}
		}
	}
	i.news, i.anew = nil, false
	return f.sorted()
}

// findings are the names that an answer is about.
type findings struct{ put, removed []string }

// look adds a name if there is something to say of it.
func (f *findings) look(c *collection, i *interest, name string, why look) {
	version, has := i.has[name]
	_, later := i.kept[name]
	switch r := c.all[name]; {
	case r != nil && i.wants(name):
		if !has || why == again || version != r.version() {
			f.put = append(f.put, name)
		}
	case !later && (has || r == nil && why != changed && i.wants(name)):
		f.removed = append(f.removed, name)
	}
}

func (f *findings) sorted() (put, removed []string) {
	slices.Sort(f.put)
	slices.Sort(f.removed)
	return slices.Compact(f.put), slices.Compact(f.removed)
}
