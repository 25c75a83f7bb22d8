package cache

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// form is the form of the objects that a reader wants.
type form int

const (
	single        form = iota // one object for each endpoint
	gathered                  // one for each port
	gatheredReady             // the same with the endpoints that are ready
	forms
)

// itemKey names an object of a Service.
type itemKey struct {
	form form
	name string
}

// item is one object that readers are told of, whatever it is at the moment. Its
// fields are under the lock of the cache.
type item struct {
	itemKey

	service *service
	port    join.Port // of gathered ones

	// seq is the number of the newest change, at where it was made.
	seq uint64
	at  Position
	// there says that the object is there, ready that what it shows is. Of gathered
	// ones both are the same.
	there, ready bool
	// slot is its place in the sets of readers.
	slot int
	// came and readied are where it last came, and last became ready.
	came, readied Position
	// object is the newest state of an endpoint, and stays when it is gone.
	object *views.EndpointView
	// last are the endpoints of a port that is gone.
	last *views.ServicePortView
	// encoded is the newest state as JSON, made when the first reader wants it.
	encoded atomic.Pointer[encoding]
}

// encoding is a state of an object as JSON, made once for all readers.
type encoding struct {
	// of is the object, of which only what never changes is read without the lock.
	of   *item
	seq  uint64
	json func() []byte
}

// shown reports whether a reader of everything, or of what is ready, is shown it.
func (i *item) shown(readyOnly bool) bool { return i.there && (i.ready || !readyOnly) }

// set notes whether the object is there, and ready.
func (i *item) set(there, ready bool) {
	if there && !i.there {
		i.came = i.at
	}
	if ready && !i.ready {
		i.readied = i.at
	}
	i.there, i.ready = there, ready
}

// maybeKnown reports whether a reader that is at a position may have been shown the
// item, of which something changed since.
func (i *item) maybeKnown(at Position, readyOnly bool) bool {
	switch {
	case !i.shown(readyOnly):
		return i.readied != Position{} || !readyOnly
	case readyOnly:
		return at.covers(i.readied)
	}
	return at.covers(i.came)
}

// snapshot returns the newest state. It is called under the lock, and encoded
// without it.
func (i *item) snapshot() *encoding {
	if e := i.encoded.Load(); e != nil && e.seq == i.seq {
		return e
	}
	state := i.state()
	e := &encoding{of: i, seq: i.seq, json: sync.OnceValue(func() []byte {
		text, _ := json.Marshal(state()) // the types are ours and have nothing that cannot be encoded
		return text
	})}
	i.encoded.Store(e)
	return e
}

// state returns what makes the newest state of values that never change.
func (i *item) state() func() any {
	switch {
	case i.form == single:
		object := i.object
		return func() any { return object }
	case i.last != nil:
		last := i.last
		return func() any { return last }
	}
	input, port, objects := i.service.input, i.port, i.service.objects(i)
	return func() any { return join.Gather(input, port, objects) }
}
