package kube

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// silenceMin is after how long without anything a watch is not resumed. Where etcd
	// reports its progress, as kubeadm sets it up, API servers send a bookmark about two
	// seconds before the end of a watch, so at rest a watch ends a moment after it told
	// something. Any other may be of a server that tells nothing any more. What is right is
	// shown by a complete list, by a request of its own: a watch that begins with the list
	// may be as silent.
	silenceMin = longestWatch - 10*time.Second
	// silenceMax bounds that time where the server has no bookmarks: at rest its watches
	// are silent, so the time doubles with each list, until there is a bookmark.
	silenceMax = 30 * time.Minute
)

// errOver ends a round.
var errOver = errors.New("a complete list is due")

// round is one complete list and the watches that go on from it.
type round struct {
	*Reflector

	// costs says that a complete list was sent, or begun.
	costs atomic.Bool
	// streamed says that a watch which begins with the list was opened: where that was not
	// complete, a list of its own is asked for. refused is why none was opened, unless the
	// server only cannot stream lists: without a watch a list is out of date at once.
	streamed bool
	refused  error
	// keep is applied to each object of the list under way: its pages have one bound together.
	keep func(runtime.Object) runtime.Object
}

// once asks for a complete list and watches from there on, until ctx ends or the next
// complete list is due. It reports whether one was sent. What goes wrong is noted where
// it arises.
func (r *Reflector) once(ctx context.Context) (costs bool) {
	ctx, cancel := context.WithCancel(quiet(ctx))
	defer cancel()
	r.mu.Lock()
	r.stop = cancel
	r.mu.Unlock()
	one, logger := &round{Reflector: r}, klog.New(nil)
	_ = cache.NewReflectorWithOptions(
		&cache.ListWatch{ListWithContextFunc: one.listed, WatchFuncWithContext: one.watch}, r.Object, trackedStore{r.Store, r},
		cache.ReflectorOptions{Logger: &logger, Backoff: &wait.Backoff{Duration: pauseMin, Factor: 2, Jitter: 0.5, Steps: 10, Cap: pauseMax}},
	).ListAndWatchWithContext(ctx)
	return one.costs.Load()
}

// listed answers client-go.
func (o *round) listed(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return o.list(ctx, options)
}

// list asks for a complete list, or a page of it. client-go asks so only where the server cannot stream
// the list as the beginning of a watch. The list is never older than the call: a server may answer
// one of resourceVersion "0", which client-go asks for, from any time in the past.
func (o *round) list(ctx context.Context, options metav1.ListOptions) (*internalversion.List, error) {
	if o.refused != nil {
		return nil, o.refused
	}
	if err := o.await(ctx); err != nil {
		return nil, err
	}
	if options.ResourceVersion == "0" {
		options.ResourceVersion = ""
	}
	if options.Continue == "" {
		o.keep = o.reduced()
	}
	list, err := o.Client.Each(ctx, o.Resource, o.selected(options), o.empty, o.keep)
	if err == nil {
		o.costs.Store(true)
		if list.ResourceVersion == "" {
			err = &Error{text: fmt.Sprintf("the answer to the list of %s is not a list: it has no resourceVersion", o.Resource.Name)}
		}
	}
	o.answered(ctx, VerbList, err)
	return list, err
}

// empty returns an object to read into.
func (r *Reflector) empty() runtime.Object {
	return reflect.New(reflect.TypeOf(r.Object).Elem()).Interface().(runtime.Object) //nolint:errcheck // it is of the type of Object
}

// reduced returns what is kept of an object until its list is complete.
func (r *Reflector) reduced() func(runtime.Object) runtime.Object {
	transform := r.Store.Transformer()
	return func(object runtime.Object) runtime.Object {
		kept, err := transform(object)
		if reduced, ok := kept.(runtime.Object); ok && err == nil {
			return reduced
		}
		return object
	}
}

// watch opens a watch that begins with the complete list, or one that goes on where the
// one before ended.
func (o *round) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	resumes := options.SendInitialEvents == nil
	if err := o.await(ctx); err != nil {
		return nil, err
	}
	lasts, over := o.lasts(resumes)
	if over {
		return nil, errOver
	}
	options.TimeoutSeconds = new(int64(lasts.Seconds()))
	events, err := o.Client.Watch(ctx, o.Resource, o.selected(options))
	o.answered(ctx, VerbWatch, err)
	if !resumes {
		o.streamed, o.refused = err == nil, err
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			o.refused = nil
		}
	}
	switch {
	case utilnet.IsConnectionRefused(err):
		// The server was away, and may come back from a backup: it says nothing to a
		// watch from a revision that it has not reached. client-go would watch on.
		return nil, errors.New(err.Error())
	case err != nil:
		return nil, err
	}
	o.accepted(resumes)
	if o.Opened != nil {
		o.Opened(resumes)
	}
	return endingWatch{events, sync.OnceFunc(func() {
		if o.Ended != nil {
			o.Ended(o.wasSilent())
		}
	})}, nil
}

// lasts returns how long the next watch is to last, or that a list by a request of its
// own is due.
func (o *round) lasts(resumes bool) (lasts time.Duration, over bool) {
	silence := o.pace().now()
	o.mu.Lock()
	defer o.mu.Unlock()
	lasts = longestWatch - rand.N(longestWatch/4)
	age := time.Since(o.heard)
	switch {
	case !resumes:
		over, o.apart = o.streamed || o.apart, false
	case age > silence:
		o.apart, o.silent, over = true, true, true
	case silence == silenceMin: // so that nothing is silent for longer than one watch
		lasts = min(lasts, longestWatch-age)
	}
	return lasts, over
}

// accepted notes that a watch was opened. One that resumes shows that the store was
// current when it was last told something. At rest a server without bookmarks tells
// nothing, so there it shows that the store is.
func (o *round) accepted(resumes bool) {
	if !resumes {
		o.costs.Store(true)
		return
	}
	silence := o.pace().now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known = o.heard; silence > silenceMin {
		o.known = time.Now()
	}
}

// wasSilent reports whether nothing was told for so long that no watch goes on from it.
func (r *Reflector) wasSilent() bool {
	silence := r.pace().now()
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.heard) > silence
}

func (r *Reflector) pace() *pace { return r.Client.pace(r.Resource.Name) }

// selected limits a request to what is watched.
func (r *Reflector) selected(options metav1.ListOptions) metav1.ListOptions {
	options.LabelSelector, options.FieldSelector = r.Selection.LabelSelector, r.Selection.FieldSelector
	return options
}

// endingWatch is a watch of which the end is noted. client-go stops each one, some twice.
type endingWatch struct {
	watch.Interface

	ended func()
}

// Stop implements watch.Interface.
func (e endingWatch) Stop() {
	e.Interface.Stop()
	e.ended()
}

// trackedStore is the store of a Reflector. It notes when something came.
type trackedStore struct {
	Store

	of *Reflector
}

// watched notes that a watch told something.
func (t trackedStore) watched(err error) error {
	if err == nil {
		t.of.mu.Lock()
		defer t.of.mu.Unlock()
		t.of.heard = time.Now()
	}
	return err
}

// Add implements cache.ReflectorStore.
func (t trackedStore) Add(object any) error { return t.watched(t.Store.Add(object)) }

// Update implements cache.ReflectorStore.
func (t trackedStore) Update(object any) error { return t.watched(t.Store.Update(object)) }

// Delete implements cache.ReflectorStore.
func (t trackedStore) Delete(object any) error { return t.watched(t.Store.Delete(object)) }

// Replace takes over a complete list.
func (t trackedStore) Replace(objects []any, revision string) error {
	defer t.of.Client.release()
	err := t.Store.Replace(objects, revision)
	if err == nil {
		t.of.mu.Lock()
		defer t.of.mu.Unlock()
		t.of.known = time.Now()
		t.of.heard = t.of.known
		t.of.pace().list(t.of.silent)
		t.of.silent = false
	}
	return err
}

// Bookmark notes that nothing else happened up to a revision, of which UpdateResourceVersion
// tells the store.
func (t trackedStore) Bookmark(string) error {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.pace().bookmark(t.of.marked)
	t.of.heard = time.Now()
	t.of.marked = t.of.heard
	return nil
}

// quiet keeps client-go from logging: what goes wrong is in the errors.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.New(nil)) }
