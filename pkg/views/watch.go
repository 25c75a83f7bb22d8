package views

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"
)

// Synced is the type of the Event after the last one of the state at the beginning,
// and after each time that the client had to compare everything anew.
const Synced EventType = "SYNCED"

// EventOf is one change of one view.
type EventOf[T any] struct {
	// Type is Added, Modified, Deleted or Synced.
	Type EventType
	// View is the newest state, of Deleted the last one; nil for Synced.
	View *T
	// Before is the state that was told before; nil for Added and Synced.
	Before *T
}

// Event is one change of one endpoint.
type Event = EventOf[EndpointView]

// PortEvent is one change of one port, which comes with all its endpoints.
type PortEvent = EventOf[ServicePortView]

// object is what a stream tells of.
type object[T any] interface {
	metadata() Metadata
	// same reports whether two states say the same. Since is of the replica that saw it.
	same(other T) bool
}

func (v EndpointView) metadata() Metadata { return v.Metadata }

func (v EndpointView) same(other EndpointView) bool {
	x, y := v.Spec, other.Spec
	x.Since, y.Since = nil, nil
	return reflect.DeepEqual(x, y)
}

func (v ServicePortView) metadata() Metadata { return v.Metadata }

func (v ServicePortView) same(other ServicePortView) bool {
	return v.Spec.ServicePort == other.Spec.ServicePort && slices.EqualFunc(v.Spec.Endpoints, other.Spec.Endpoints, func(x, y Endpoint) bool {
		x.Since, y.Since = nil, nil
		return reflect.DeepEqual(x, y)
	})
}

const (
	// pauseMin and pauseMax bound the wait between two streams, before jitter.
	pauseMin, pauseMax = 100 * time.Millisecond, 5 * time.Second
	// mostBehind is how often servers may not know the token yet, while none goes on from it.
	// Then it may be from before the cluster was restored from a backup, and everything is
	// compared. It takes longer than a server needs to notice that it is not current (40 s).
	mostBehind = 8
)

// Watch calls handle for each change, one at a time, in the order of each view, until
// ctx ends or handle returns an error, which it returns. It begins with every view
// there is as Added, and Synced. What is lost on the way is asked for again: a view is
// never told twice the same, and never Deleted because a server was away.
//
// One change of a Service may be several events, and between two of them no endpoint may
// be Ready although one always is. A program that needs a port as a whole uses Run or
// WatchPorts.
func (c *Client) Watch(ctx context.Context, handle func(Event) error) error {
	return watch(ctx, c, c.query(), handle, func() {})
}

// WatchPorts is Watch for whole ports: one view for each port of each Service, with
// all its endpoints, also where it has none.
func (c *Client) WatchPorts(ctx context.Context, handle func(PortEvent) error) error {
	query := c.query()
	query.Set("gather", "true")
	return watch(ctx, c, query, handle, func() {})
}

// watch calls handle for each change, and whole each time that what was told is a state
// that the server has, and no part of one.
func watch[T object[T]](ctx context.Context, c *Client, query url.Values, handle func(EventOf[T]) error, whole func()) error {
	query.Set("watch", "true")
	w := &watchCall[T]{client: c, query: query, handle: handle, whole: whole, has: make(map[string]*T)}
	pause := pauseMin
	for server := rand.N(len(c.opts.Servers)); ; server++ {
		began := time.Now()
		err := w.once(ctx, c.opts.Servers[server%len(c.opts.Servers)])
		if w.failed != nil {
			return w.failed
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.opts.OnError(err)
		}
		if pause = min(2*pause, pauseMax); err == nil || time.Since(began) > longestSilence {
			pause = pauseMin
		}
		if tooOld(err) && w.resumed {
			continue // everything is asked for at once
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
	}
}

// watchCall is one call of Watch or WatchPorts.
type watchCall[T object[T]] struct {
	client *Client
	// query is what each stream asks for, beside the token.
	query  url.Values
	handle func(EventOf[T]) error
	whole  func()
	// failed is what handle returned.
	failed error
	has    map[string]*T
	// token is where the next stream goes on; empty where it begins anew, because no
	// mark came after the last change.
	token string
	// resumed says that the last stream went on from a token, behind how often servers did not
	// know it yet since the last mark.
	resumed bool
	behind  int
	// fresh are the views of a new beginning that is not complete; nil after it.
	fresh map[string]bool
}

// once follows one stream to its end.
func (w *watchCall[T]) once(ctx context.Context, server string) error {
	w.fresh, w.resumed = nil, w.token != ""
	if !w.resumed {
		w.fresh = make(map[string]bool)
	}
	if w.query.Del("resourceVersion"); w.resumed {
		w.query.Set("resourceVersion", w.token)
	}
	err := w.client.lines(ctx, server, w.query, w.take)
	switch {
	case tooOld(err):
		w.token = ""
	case isStatus(err, http.StatusServiceUnavailable): // it has not seen what the token says
		if w.behind++; w.behind == mostBehind {
			w.token, w.behind = "", 0
		}
	}
	return err
}

// take takes one event of the stream.
func (w *watchCall[T]) take(event wireEvent) error {
	if event.Type == Bookmark {
		var mark struct {
			Metadata ListMetadata `json:"metadata"`
		}
		if err := json.Unmarshal(event.Object, &mark); err != nil {
			return fmt.Errorf("read a bookmark: %w", err)
		}
		return w.mark(mark.Metadata)
	}
	view := new(T)
	if err := json.Unmarshal(event.Object, view); err != nil {
		return fmt.Errorf("read a view: %w", err)
	}
	if err := w.change(event.Type, view); err != nil {
		return err
	}
	if w.fresh == nil {
		w.token = "" // until the next mark the state is that of no token
	}
	return nil
}

// change tells of one view, if that is news.
func (w *watchCall[T]) change(kind EventType, view *T) error {
	about := (*view).metadata()
	key := about.Namespace + "/" + about.Name
	before := w.has[key]
	if kind == Deleted {
		delete(w.fresh, key)
		if before == nil {
			return nil
		}
		delete(w.has, key)
		return w.tell(EventOf[T]{Type: Deleted, View: view, Before: before})
	}
	if w.fresh != nil {
		w.fresh[key] = true
	}
	w.has[key] = view
	switch {
	case before == nil:
		return w.tell(EventOf[T]{Type: Added, View: view})
	case (*before).same(*view):
		return nil
	}
	return w.tell(EventOf[T]{Type: Modified, View: view, Before: before})
}

// mark takes a bookmark. The one after the state at the beginning says what is gone.
func (w *watchCall[T]) mark(metadata ListMetadata) error {
	w.behind = 0
	if w.fresh == nil {
		w.token = metadata.ResourceVersion
		w.whole()
		return nil
	}
	if metadata.Annotations[AnnotationInitialEventsEnd] != "true" {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(w.has)) {
		if w.fresh[key] {
			continue
		}
		last := w.has[key]
		delete(w.has, key)
		if err := w.tell(EventOf[T]{Type: Deleted, View: last, Before: last}); err != nil {
			return err
		}
	}
	w.fresh, w.token = nil, metadata.ResourceVersion
	w.whole()
	return w.tell(EventOf[T]{Type: Synced})
}

func (w *watchCall[T]) tell(event EventOf[T]) error {
	w.failed = w.handle(event)
	return w.failed
}
