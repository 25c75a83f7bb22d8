package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

const (
	// mostReads is how many unconfirmed objects are asked about at the same time.
	mostReads = 8
	// askAgain is the wait before an unconfirmed object that could not be read is asked about
	// again.
	askAgain = time.Second
	// mostOfSelection is how much is read of the annotation that selects a Service: enough to
	// know that it is true, or something else.
	mostOfSelection = 16
)

// Options say which API server is watched, and what for.
type Options struct {
	Way kube.Way
	// UserAgent is what the API server's audit log calls us.
	UserAgent string
	// Namespaces are those to watch; none for all.
	Namespaces []string
	// Annotation is the one that Selected reads.
	Annotation string
	// Selected reports whether the views of a Service are wanted.
	Selected func(*corev1.Service) bool
}

// Watcher fills a cache.
type Watcher struct {
	client   *kube.Client
	scopes   []string
	selected func(*corev1.Service) bool
	cache    *cache.Cache
	// watches are two of each scope, in the order of cache.Kind.
	watches  []*kube.Reflector
	requests requests
	// asked wakes the goroutine that asks about unconfirmed objects.
	asked chan struct{}
}

// New returns a source that does nothing until Run is called. It reads the access, so
// that one that cannot be used is told at once.
func New(options Options) (*Watcher, error) {
	client, err := kube.Open(kube.Options{Way: options.Way, UserAgent: options.UserAgent, Annotations: func(name []byte, _ int) int {
		most := join.MostOfAnnotation(string(name))
		if string(name) == options.Annotation {
			most = max(mostOfSelection, most)
		}
		return most
	}})
	if err != nil {
		return nil, fmt.Errorf("watch Services and EndpointSlices: %w", err)
	}
	s := &Watcher{client: client, scopes: scopesOf(options.Namespaces), selected: options.Selected, requests: requests{count: make(map[request]uint64)}, asked: make(chan struct{}, 1)}
	s.cache = cache.New(len(s.scopes))
	for i := range s.scopes {
		s.watches = append(s.watches, s.newWatch(i, cache.Services), s.newWatch(i, cache.Slices))
	}
	return s, nil
}

// scopesOf are the namespaces to watch, each once; one empty name for all.
func scopesOf(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return slices.Compact(slices.Sorted(slices.Values(namespaces)))
}

// Cache is what the source fills.
func (s *Watcher) Cache() *cache.Cache { return s.cache }

// Run watches until ctx ends; nothing of it is left running.
func (s *Watcher) Run(ctx context.Context) {
	defer s.client.Close()
	var running sync.WaitGroup
	for _, w := range s.watches {
		running.Go(func() { w.Run(ctx) })
	}
	running.Go(func() { s.confirm(ctx) })
	running.Wait()
}

// Stale returns since when a watch tells nothing, and which and why; a nil error
// while all are current.
func (s *Watcher) Stale(now time.Time) (since time.Time, err error) {
	for _, w := range s.watches {
		if known, problem := w.Stale(now); problem != nil && (err == nil || known.Before(since)) {
			since, err = known, problem
		}
	}
	return since, err
}

// Blind reports whether no watch is current, as where this replica is cut off.
func (s *Watcher) Blind() bool {
	return !slices.ContainsFunc(s.watches, func(w *kube.Reflector) bool {
		_, problem := w.Stale(time.Now())
		return problem == nil
	})
}

// Known returns when the API server last accepted a request of the watch of which this
// is longest ago; zero before every watch was accepted once.
func (s *Watcher) Known() time.Time {
	return slices.MinFunc(s.watches, func(a, b *kube.Reflector) int { return a.Known().Compare(b.Known()) }).Known()
}

// Trouble returns what each watch met last that has not told a complete list yet.
func (s *Watcher) Trouble() error {
	var all []error
	for _, w := range s.watches {
		if err := w.Failed(); err != nil {
			all = append(all, fmt.Errorf("watch %s: %w", w.What, err))
		}
	}
	return errors.Join(all...)
}

// input translates an object of a watch.
func (s *Watcher) input(object runtime.Object) (cache.Input, error) {
	switch o := object.(type) {
	case *corev1.Service:
		revision, err := cache.ParseRevision(o.ResourceVersion)
		in := cache.Input{Key: join.Key{Namespace: o.Namespace, Name: o.Name}, Revision: revision}
		if s.selected(o) {
			in.Service = join.ToService(o)
		}
		in.Hidden = in.Service == nil
		return in, err
	case *discoveryv1.EndpointSlice:
		revision, err := cache.ParseRevision(o.ResourceVersion)
		return cache.Input{Key: join.Key{Namespace: o.Namespace, Name: o.Name}, Revision: revision, Slice: join.ToSlice(o)}, err
	}
	return cache.Input{}, fmt.Errorf("the watch brought a %T", object)
}

// confirm asks the server about each object that a complete list left out, until it
// has said of all whether they are gone.
func (s *Watcher) confirm(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.asked:
		}
		var reading sync.WaitGroup
		free := make(chan struct{}, mostReads)
		for _, unconfirmed := range s.cache.Unconfirmed() {
			free <- struct{}{}
			reading.Go(func() {
				defer func() { <-free }()
				s.read(ctx, unconfirmed)
			})
		}
		reading.Wait()
		if len(s.cache.Unconfirmed()) > 0 {
			time.AfterFunc(askAgain, func() { kube.Signal(s.asked) })
		}
	}
}

// read asks about an unconfirmed object, if that is needed still. An answer that is neither the object nor that exactly
// this object does not exist says nothing.
func (s *Watcher) read(ctx context.Context, unconfirmed cache.UnconfirmedObject) {
	if !s.cache.Asks(unconfirmed) {
		return
	}
	key := unconfirmed.Key
	resource, object := kube.Services(key.Namespace), runtime.Object(&corev1.Service{})
	if unconfirmed.Kind == cache.Slices {
		resource, object = kube.EndpointSlices(key.Namespace), &discoveryv1.EndpointSlice{}
	}
	err := s.client.Get(ctx, resource, key.Name, object)
	s.requests.note("get", err)
	again := false
	if missing(err, key.Name) {
		again = s.cache.Gone(unconfirmed)
	} else if err == nil {
		in, err := s.input(object)
		again = err == nil && in.Key == key && s.cache.There(unconfirmed, in)
	}
	if again {
		s.watches[unconfirmed.Scope*2+int(unconfirmed.Kind)].ListAgain()
	}
}

// missing reports whether the API server says that the object of that name does not
// exist. A proxy, or a server without the API, answers 404 too, of which client-go
// makes an error that names the object; it says that the answer was unexpected.
func missing(err error, name string) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name == name && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
