package xds

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// interest is what a client wants of a collection and what it has. All access is under the
// lock of the collection. Of names only the hash is kept: a proxy may ask for any number that
// do not exist.
type interest struct {
	client *client
	of     *collection
	// begun says that the client has asked, everything that it wants all there is, and
	// legacy that it does because it has named nothing yet.
	begun, everything, legacy bool
	// names are those asked for, and whether they count against the bound of the identity.
	names map[uint64]bool
	// kept are clusters and listeners that the client had when it connected and that are
	// gone. It is told so later: its routes may still lead to the clusters, and another
	// replica may know more of the listeners.
	kept map[string]struct{}
	// has are the versions that the client has once it has taken all answers.
	has map[string]string

	// news are names to look at for the next answer; anew says that it is every name.
	news map[string]look
	anew bool
	// most is how many resources the next answer has at most, 0 for any number.
	most int
	// waits says that a request waits for an answer.
	waits bool
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

const (
	// mostNews is how many names are remembered for a client that says nothing.
	mostNews = 1024
	// piece is how many names of a request are looked at before others have their turn.
	piece = 500
	// everyName stands for everything in a list of names.
	everyName = "*"
)

// seed is drawn by each process, so that nobody can choose two names with one hash.
var seed = maphash.MakeSeed()

func newInterest(c *client, of *collection) *interest {
	i := &interest{client: c, of: of, names: make(map[uint64]bool), has: make(map[string]string)}
	locked(&of.mu, func() { of.interests[i] = struct{}{} })
	return i
}

// locked does something under a lock.
func locked(mu *sync.Mutex, do func()) {
	mu.Lock()
	defer mu.Unlock()
	do()
}

// wants reports whether the client asks for a resource, and may see it.
func (i *interest) wants(name string) bool {
	_, named := i.names[maphash.String(seed, name)]
	return (named || i.everything) && i.client.sees(name)
}

// whole reports whether what an answer leaves out is gone: a cluster or listener in the state
// of the world. Of other kinds that protocol has no way to say so.
func (i *interest) whole() bool {
	return i.client.protocol == GRPC && (i.of.kind == envoyconfig.Clusters || i.of.kind == envoyconfig.Listeners)
}

// begin takes over what a request of the delta protocol says of everything, and what the
// client has when it begins. It returns the names that are left.
func (i *interest) begin(w wish) wish {
	if !i.begun {
		i.begun, i.anew, i.has, i.kept = true, true, w.has, w.gone
		// Only for these an empty request means everything.
		i.legacy = i.of.kind == envoyconfig.Clusters || i.of.kind == envoyconfig.Listeners
		i.everything = i.legacy && len(w.more) == 0
	}
	if i.legacy && len(w.more) == 0 {
		return wish{}
	}
	i.legacy = false
	if slices.Contains(w.more, everyName) {
		i.everything, i.anew = true, true
	}
	return w
}

// rest makes no answer until the next request is heard.
func (i *interest) rest() { locked(&i.of.mu, func() { i.waits = false }) }

// delta takes over a request of the delta protocol, and answers it as soon as there is
// something to say. A proxy that starts waits for the first answer about everything, also
// where there is nothing.
//
// The lock is never held for as long as a request is.
func (i *interest) delta(w wish, nonce string) error {
	c, why := i.of, again
	locked(&c.mu, func() {
		if !i.begun {
			why = asked
		}
		w = i.begin(w)
	})
	f, err := i.ask(w, why)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i.waits = true
	put, removed := i.newest()
	// Meanwhile something may have come and gone, and be asked for no more.
	f.put = slices.DeleteFunc(append(f.put, put...), func(name string) bool { return c.all[name] == nil || !i.wants(name) })
	f.removed = slices.DeleteFunc(append(f.removed, removed...), func(name string) bool { return c.all[name] != nil && i.wants(name) })
	if put, removed = f.sorted(); len(put)+len(removed) > 0 || i.everything && nonce == "" {
		i.answer(put, removed)
	}
	return nil
}

// ask takes over the names of a request, in pieces, and returns what there is to say of them.
func (i *interest) ask(w wish, why look) (f findings, err error) {
	for names := range slices.Chunk(w.more, piece) {
		locked(&i.of.mu, func() {
			for _, name := range names {
				if err == nil && name != everyName {
					err = i.add(name)
					f.look(i, name, why)
				}
			}
		})
	}
	for names := range slices.Chunk(w.fewer, piece) {
		locked(&i.of.mu, func() {
			for _, name := range names {
				i.remove(name)
			}
		})
	}
	f.sorted()
	return f, err
}

// add adds a name.
func (i *interest) add(name string) error {
	hash := maphash.String(seed, name)
	if _, named := i.names[hash]; named {
		return nil
	}
	if len(i.names) >= mostNames {
		return errTooMany(i.of.kind)
	}
	i.names[hash] = i.of.all[name] == nil
	if i.names[hash] {
		return i.client.keep(nameCost)
	}
	return nil
}

// remove removes a name. Of everything the client still has it, or is told that it is gone.
func (i *interest) remove(name string) {
	if name == everyName {
		i.everything, i.anew = false, true
		return
	}
	hash := maphash.String(seed, name)
	if i.names[hash] {
		_ = i.client.keep(-nameCost) // less is never too much
	}
	delete(i.names, hash)
	if i.everything {
		i.note(name, again)
	} else {
		delete(i.has, name)
	}
}

func errTooMany(of envoyconfig.Kind) error {
	return status.Errorf(codes.ResourceExhausted, "the stream names more than %d resources of type %s; name fewer", mostNames, of)
}

// world takes over a request of the state of the world, which names all that the client wants.
// The first one of a stream is always answered with all that it is for: the version in it is
// that of the last answer of another stream, which says nothing of names that were added or
// forgotten since.
func (i *interest) world(names []string, first bool) error {
	wanted := make(map[uint64]bool, len(names))
	for _, name := range names {
		wanted[maphash.String(seed, name)] = false
	}
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	if err := i.client.keep(nameCost * (len(wanted) - len(i.names))); err != nil {
		return err
	}
	i.names, i.anew, i.waits = wanted, true, true
	maps.DeleteFunc(i.has, func(name, _ string) bool { return !i.wants(name) })
	if first {
		i.answer(i.newest())
	} else {
		i.tell()
	}
	return nil
}

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

// newest are the names of what a client does not have in the newest version, and of what it
// has and is not to have any more. Both are sorted. They are news once.
func (i *interest) newest() (put, removed []string) {
	var f findings
	for name, why := range i.news {
		f.look(i, name, why)
	}
	if i.anew {
		for name := range i.of.all {
			if _, done := i.news[name]; !done {
				f.look(i, name, changed)
			}
		}
		for name := range i.has {
			if _, done := i.news[name]; !done && i.of.all[name] == nil {
				f.look(i, name, changed)
			}
		}
	}
	i.news, i.anew = nil, false
	return f.sorted()
}

// tell answers a request that waits, if there is something new.
func (i *interest) tell() {
	if !i.waits {
		return
	}
	if put, removed := i.newest(); len(put) > 0 || len(removed) > 0 && (i.client.protocol != GRPC || i.whole()) {
		i.answer(put, removed)
	}
}

// answer answers the request that waits.
func (i *interest) answer(put, removed []string) {
	if i.whole() {
		put = nil
		for name := range i.of.all {
			if i.wants(name) {
				put = append(put, name)
			}
		}
		slices.Sort(put)
	}
	if i.most > 0 {
		n := min(i.most, len(put))
		i.leave(put[n:])
		put, i.most = put[:n], min(2*i.most, mostNames)
	}
	for _, name := range removed {
		delete(i.has, name)
	}
	r := reply{kind: i.of.kind}
	for _, name := range put {
		one := i.of.all[name].encoded()
		r.resources = append(r.resources, one)
		i.has[one.GetName()] = one.GetVersion()
	}
	if i.client.protocol == GRPC {
		r.version = versionOfAll(i.has)
	} else {
		r.removed = removed
	}
	i.waits = false
	i.client.replies <- r // there is room, see settle
}

// versionOfAll is the version of all that a client has: the same on every replica.
func versionOfAll(has map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(has)) {
		text.WriteString(name + "=" + has[name] + "\n")
	}
	return versionOf([]byte(text.String()))
}

// keeps reports whether a client has something that it is told later to remove.
func (i *interest) keeps() bool {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	return len(i.kept) > 0
}

// release tells a client to remove that.
func (i *interest) release() {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	for name := range i.kept {
		i.note(name, changed)
	}
	i.kept = nil
	i.tell()
}

// split sends what an answer had that a client rejected again, because the client took nothing of
// it: first one resource, then ever more. A resource that is the only one of an answer is rejected
// itself, and is not sent again before it changes.
func (i *interest) split(a *answer) {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	if len(a.put) > 0 {
		i.leave(a.removed)
	}
	if len(a.put) > 1 {
		i.leave(a.names())
		i.most = 1
	}
}

// forget ends what a client wants.
func (i *interest) forget() {
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	delete(i.of.interests, i)
}

// findings are the names that an answer is about.
type findings struct{ put, removed []string }

// look adds a name if there is something to say of it.
func (f *findings) look(i *interest, name string, why look) {
	version, has := i.has[name]
	_, later := i.kept[name]
	switch r := i.of.all[name]; {
	case r != nil && i.wants(name):
		if !has || why == again || version != r.version() {
			f.put = append(f.put, name)
		}
	case !later && (has || r == nil && why != changed && i.wants(name)):
		f.removed = append(f.removed, name)
	}
}

// sorted sorts the names, and leaves each there once.
func (f *findings) sorted() (put, removed []string) {
	slices.Sort(f.put)
	slices.Sort(f.removed)
	f.put, f.removed = slices.Compact(f.put), slices.Compact(f.removed)
	return f.put, f.removed
}
