package cache

import (
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// item is the object of one endpoint, whatever it is at the moment. Its fields are under
// the lock of the cache.
type item struct {
	service *service
	name    string

	// seq is the number of the newest change, at where it was made.
	seq uint64
	at  Position
	// there says that the object is there, ready that what it shows is.
	there, ready bool
	// slot is its place in the sets of readers.
	slot int
	// came and readied are where it last came, and last became ready.
	came, readied Position
	wasReady      bool // at any time
	// object is the newest state of an endpoint, and stays when it is gone.
	object *views.EndpointView
	// encoded is the newest state as JSON, made when the first reader wants it.
	encoded atomic.Pointer[encoding]
}

// encoding is a state of an object as JSON, made once for all readers.
type encoding struct {
	seq  uint64
	once sync.Once
	// encode makes what is encoded, of values that never change.
	encode func() any
	text   []byte
}

// json returns the state as JSON.
func (e *encoding) json() []byte {
	e.once.Do(func() {
		// The types are ours and have nothing that cannot be encoded.
		e.text, _ = json.Marshal(e.encode())
		e.encode = nil
	})
	return e.text
}

// shown reports whether a reader of everything, or of what is ready, is shown it.
func (i *item) shown(readyOnly bool) bool { return i.there && (i.ready || !readyOnly) }

// set notes whether the object is there, and ready.
func (i *item) set(there, ready bool) {
	if there && !i.there {
		i.came = i.at
	}
	if ready && !i.ready {
		i.readied, i.wasReady = i.at, true
	}
	i.there, i.ready = there, ready
}

// maybeKnown reports whether a reader that is at a position may have been shown the
// item, of which something changed since.
func (i *item) maybeKnown(at Position, readyOnly bool) bool {
	switch {
	case !i.shown(readyOnly):
		return i.wasReady || !readyOnly
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
	object := i.object
	e := &encoding{seq: i.seq, encode: func() any { return object }}
	i.encoded.Store(e)
	return e
}

// gather makes the object of one port.
func gather(service *join.Service, port string, objects []*views.EndpointView, readyOnly bool) *views.ServicePortView {
	if readyOnly {
		objects = slices.DeleteFunc(slices.Clone(objects), func(v *views.EndpointView) bool { return v.Spec.State != views.Ready })
	}
	return join.Gather(service, port, objects)
}
