package cache

import (
	"cmp"
	"errors"
	"math/big"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// Selection is what a reader wants.
type Selection struct {
	// Namespace reports whether the reader may see, and wants, a namespace.
	Namespace func(string) bool
	// Service is the name of a Service; empty for every one.
	Service string
	// Gather asks for one object for each port, Ready for endpoints that are ready
	// only.
	Gather, Ready bool
}

func (s Selection) form() form {
	switch {
	case s.Gather && s.Ready:
		return gatheredReady
	case s.Gather:
		return gathered
	}
	return single
}

func (s Selection) has(of *service) bool {
	return (s.Service == "" || s.Service == of.key.Name) && s.Namespace(of.key.Namespace)
}

// Why a reader cannot begin or go on.
var (
	// ErrNotSynced says that not every watch has told a complete list yet.
	ErrNotSynced = errors.New("the first join is not made yet")
	// ErrExpired says that what happened since is not known, or not for certain.
	ErrExpired = errors.New("the changes since then are not known here any more; list again")
	// ErrBehind says that the token is from a replica that is further.
	ErrBehind = errors.New("this replica has not yet reached the revision of the token")
	// ErrUnsure says that it is not known whether it is.
	ErrUnsure = errors.New("this replica does not know whether it has reached the revision of the token")
)

// Event is one change for one reader.
type Event struct {
	Type   views.EventType
	object *encoding
}

// Object is the object as JSON. It is shared: do not write to it.
func (e Event) Object() []byte { return e.object.json() }

// Batch is what a reader gets at a time.
type Batch struct {
	Events []Event
	// Token is where a reader that has taken this batch can go on at any replica,
	// empty where more is to come first.
	Token string
	// Changed is closed by the next change; nil where more is to come at once.
	Changed <-chan struct{}
}

// Reader is told every change of what it selected. It is of one goroutine.
type Reader struct {
	cache     *Cache
	selection Selection
	// taken is the newest change that was taken, start the newest that counts as
	// known: what was gone by then was never told.
	taken, start uint64
	epoch        uint64
	// shown is what the reader has, or may have.
	shown big.Int // a bit for each slot
	// resumed is the token that the reader goes on from, until it has taken the change
	// that was the newest then.
	resumed Token
	until   uint64
}

// Read returns a reader that begins with everything there is, or goes on from a token
// where that is not empty.
func (c *Cache) Read(selection Selection, token string) (*Reader, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.synced {
		return nil, ErrNotSynced
	}
	r := &Reader{cache: c, selection: selection, epoch: c.epoch, start: c.seq}
	if token == "" {
		return r, nil
	}
	from, err := ParseToken(token, len(c.scopes))
	if err != nil {
		return nil, err
	}
	if err := c.resumable(selection, from); err != nil {
		return nil, err
	}
	r.resumed, r.until, r.start = from, c.seq, 0
	r.recall(c.forms[selection.form()].all)
	return r, nil
}

// recall finds out what the reader has, from the token that it goes on from.
func (r *Reader) recall(all []change) {
	r.taken = r.cache.seq
	for _, one := range all {
		if i := one.item; !outdated(one) && r.selection.has(i.service) {
			at, known := r.resumed[i.service.scope], i.shown(r.selection.Ready)
			if !at.covers(i.at) {
				known = i.maybeKnown(at, r.selection.Ready)
				r.taken = min(r.taken, one.seq-1)
			}
			r.show(i.slot, known)
		}
	}
}

// show notes whether the reader has what is in a slot.
func (r *Reader) show(slot int, has bool) {
	if has {
		r.shown.SetBit(&r.shown, slot, 1)
	} else {
		r.shown.SetBit(&r.shown, slot, 0)
	}
}

// resumable says why a reader cannot go on from a token.
func (c *Cache) resumable(selection Selection, from Token) error {
	for i := range c.scopes {
		switch published := c.scopes[i].published(); {
		case from[i] == Position{}:
			return ErrExpired
		case published == Position{}:
			return ErrUnsure
		case !from[i].covers(c.scopes[i].floor):
			return ErrExpired
		case !published.covers(from[i]):
			return ErrBehind
		}
	}
	for namespace, crowd := range c.crowds {
		if selection.Namespace(namespace) && (crowd.full || !from[crowd.scope].covers(crowd.floor)) {
			return ErrExpired
		}
	}
	for _, s := range c.services {
		at := from[s.scope]
		if selection.has(s) && !at.covers(s.history.last) && s.history.crossed(at) {
			return ErrExpired
		}
	}
	return nil
}

// Moved is closed when a watch is further than now.
func (c *Cache) Moved() <-chan struct{} {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.moves
}

// most is how many changes a reader looks at under the lock at a time.
const most = 256

// Next returns what changed since the last call, a bounded number of events. It does
// not wait.
func (r *Reader) Next() (Batch, error) {
	c := r.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	if r.epoch != c.epoch || c.pruned > max(r.taken, r.start) {
		return Batch{}, ErrExpired
	}
	pending := c.forms[r.selection.form()].after(r.taken)
	var batch Batch
	for _, one := range pending[:min(len(pending), most)] {
		if event, ok := r.event(one); ok {
			batch.Events = append(batch.Events, event)
		}
		r.taken = one.seq
	}
	if len(pending) <= most {
		r.taken = c.seq
		batch.Token, batch.Changed = c.token(r.selection).String(), c.changes
	}
	return batch, nil
}

// event returns what a change is for the reader, false for nothing.
func (r *Reader) event(one change) (Event, bool) {
	i := one.item
	if outdated(one) || !r.selection.has(i.service) {
		return Event{}, false
	}
	if one.seq <= r.until && r.resumed[i.service.scope].covers(i.at) {
		return Event{}, false
	}
	is, was := i.shown(r.selection.Ready), r.shown.Bit(i.slot) == 1
	r.show(i.slot, is)
	event := Event{Type: views.Modified, object: i.snapshot()}
	switch {
	case !is && !was:
		return Event{}, false
	case !is:
		event.Type = views.Deleted
	case !was:
		event.Type = views.Added
	}
	return event, true
}

// List returns the objects of a selection, by namespace and name, and the token to go
// on from.
func (c *Cache) List(selection Selection) (objects []Event, token string, err error) {
	objects, token, err = c.find(selection)
	slices.SortFunc(objects, func(a, b Event) int {
		x, y := a.object.of, b.object.of
		return cmp.Or(strings.Compare(x.service.key.Namespace, y.service.key.Namespace), strings.Compare(x.name, y.name))
	})
	return objects, token, err
}

// find does the part of List that needs the lock, and nothing else, so that a list
// delays no other client.
func (c *Cache) find(selection Selection) (found []Event, token string, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.synced {
		return nil, "", ErrNotSynced
	}
	for _, one := range c.forms[selection.form()].all {
		if i := one.item; !outdated(one) && selection.has(i.service) && i.shown(selection.Ready) {
			found = append(found, Event{Type: views.Added, object: i.snapshot()})
		}
	}
	return found, c.token(selection).String(), nil
}
