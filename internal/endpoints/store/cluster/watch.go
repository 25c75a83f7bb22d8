package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// refusedMax bounds the pause where a right is missing and there are many targets: with
// jitter at most 30 s. There may be many such namespaces, for as long as a document names
// one that the program has no right to.
const refusedMax = 20 * time.Second

// watched is one of the watches of a scope.
type watched struct {
	kube.Reflector

	complete chan struct{} // closed by the first complete list
	once     sync.Once
}

// watchServices makes the watch of Services.
func (s *scope) watchServices(what string) *watched {
	w := &watched{Reflector: kube.Reflector{
		What: what, Resource: kube.Services(s.namespace), Store: s.servicesFeed(),
		Object: &corev1.Service{},
	}}
	if only := s.hub.options.Only; only != nil {
		w.Selection = kube.Named(only.Service)
	}
	return w.of(s.hub)
}

// watchSlices makes the watch of EndpointSlices.
func (s *scope) watchSlices(what string) *watched {
	w := &watched{Reflector: kube.Reflector{
		What: what, Resource: kube.EndpointSlices(s.namespace), Store: s.slicesFeed(),
		Object: &discoveryv1.EndpointSlice{},
	}}
	if only := s.hub.options.Only; only != nil {
		w.Selection.LabelSelector = labels.Set{discoveryv1.LabelServiceName: only.Service}.String()
	}
	return w.of(s.hub)
}

// of makes it a watch of the hub. A watch that was refused ends the pause of all others
// when it is refused no more.
func (w *watched) of(hub *Hub) *watched {
	w.complete, w.Client = make(chan struct{}), hub.client
	if hub.options.Only != nil {
		return w
	}
	var refused atomic.Bool // because a right is missing
	w.News = hub.granted.next
	w.Answered = func(verb string, err error) {
		if apierrors.IsForbidden(err) {
			refused.Store(true)
		} else if err == nil && verb == kube.VerbWatch && refused.Swap(false) {
			hub.granted.tell()
		}
	}
	w.Longest = func(err error) time.Duration {
		if apierrors.IsForbidden(err) {
			return refusedMax
		}
		return 0
	}
	return w
}

// listed is called when a complete list was taken over.
func (w *watched) listed() { w.once.Do(func() { close(w.complete) }) }

// await waits for the first complete list, or for the end of ctx.
func (w *watched) await(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-w.complete:
		return nil
	case <-ctx.Done():
	}
	if last := w.Failed(); last != nil {
		return fmt.Errorf("no answer yet to the watch of %s: %w; last: %w", w.What, ctx.Err(), available(last))
	}
	return fmt.Errorf("no answer yet to the watch of %s: %w", w.What, ctx.Err())
}

// isComplete reports whether there was a complete list.
func (w *watched) isComplete() bool {
	select {
	case <-w.complete:
		return true
	default:
		return false
	}
}

// stale says since when what is known of the watch may be out of date, and why; nil
// while it is current.
func (w *watched) stale(now time.Time) error {
	_, err := w.Stale(now)
	return available(err)
}

// grants tells the watches that were refused that another one is refused no more: rights
// are often given to several namespaces at once, and always to both watches of one.
type grants struct {
	mu   sync.Mutex
	news chan struct{}
}

// next returns a channel that is closed at the next news.
func (g *grants) next() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.news == nil {
		g.news = make(chan struct{})
	}
	return g.news
}

func (g *grants) tell() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.news != nil {
		close(g.news)
		g.news = nil
	}
}
