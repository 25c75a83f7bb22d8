package apiserver

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

const (
	// gather is how long changes are gathered: an apply of 1,000 objects is not as many
	// sets.
	gather = 50 * time.Millisecond
	// patient is how long a first list that fails is waited for: until then nothing is
	// known of the kind, and no team is refused anything.
	patient = 10 * time.Second
)

// Watcher keeps the documents of an API server current.
type Watcher struct {
	client  *kube.Client
	bounds  documents.Bounds
	kinds   []*kind
	news    chan struct{}
	changed chan struct{}
	// revision counts what the watches told.
	revision  atomic.Uint64
	unwritten atomic.Pointer[[]Failure]

	mu  sync.Mutex
	set documents.Set
}

// New returns a watcher of an API server, whose documents may not go beyond the bounds. It does
// nothing until Run or Read is called, but reads the access, so that one that cannot be used is
// told at once.
func New(way kube.Way, bounds documents.Bounds) (*Watcher, error) {
	client, err := kube.Open(kube.Options{Way: way})
	if err != nil {
		return nil, fmt.Errorf("read documents of the API server: %w", err)
	}
	w := &Watcher{client: client, bounds: bounds, news: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	w.kinds = []*kind{
		newKind(w, v1alpha1.KindEndpointPool, kube.EndpointPools()),
		newKind(w, v1alpha1.KindEndpointBinding, kube.EndpointBindings("")),
	}
	return w, nil
}

// Set returns the documents in effect. Before anything is known of both kinds it is one
// that has no entries and the generation 0.
func (w *Watcher) Set() documents.Set {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set
}

// Changed receives a value after the set changed. Several changes may be one value.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// signal says that a watch told something.
func (w *Watcher) signal() {
	w.revision.Add(1)
	kube.Signal(w.news)
}

// Run watches until ctx ends; nothing of it is left running.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.client.Close()
	var running sync.WaitGroup
	defer running.Wait()
	for _, k := range w.kinds {
		running.Go(func() { k.watch.Run(ctx) })
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	began := time.Now()
	stale := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.news:
			if !kube.Wait(ctx, gather) {
				return nil
			}
		case now := <-second.C: // a watch that falls silent tells nothing of it
			is := w.problems(now)
			if is == stale && (w.Set().Generation > 0 || now.Sub(began) < patient) {
				continue
			}
			stale = is
		}
		w.advance(time.Since(began) >= patient)
	}
}

// Read lists both kinds once, for a command that ends then.
func (w *Watcher) Read(ctx context.Context) documents.Set {
	defer w.client.Close()
	for _, k := range w.kinds {
		k.watch.ListOnce(ctx)
	}
	w.advance(true)
	return w.Set()
}

// problems is what is wrong with the watches, in one text.
func (w *Watcher) problems(now time.Time) (text string) {
	for _, k := range w.kinds {
		text += k.listing(now).Problem + "\n"
	}
	return text
}

// advance folds what is known into the set. Where nothing is known of a kind yet, that
// counts only where it is late, or where the right is missing.
func (w *Watcher) advance(late bool) {
	var listings []documents.Listing
	for _, k := range w.kinds {
		l := k.listing(time.Now())
		if !l.Known && !l.Missing && !late && !k.refused() {
			return
		}
		listings = append(listings, l)
	}
	before := w.Set()
	after := documents.AdvanceObjects(before, w.bounds, listings...)
	if after.Generation == before.Generation && before.Generation > 0 {
		return
	}
	after.Generation = max(1, after.Generation) // an API server without any document is known too
	w.mu.Lock()
	w.set = after
	w.mu.Unlock()
	kube.Signal(w.changed)
}
