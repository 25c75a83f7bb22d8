package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// refusedMax bounds the pause where a right is missing and there are many targets: with
// jitter at most 30 s. There may be many such namespaces, for as long as a document names
// one that the program has no right to.
const refusedMax = 20 * time.Second

// scopeWatch is one of the watches of a scope.
type scopeWatch struct {
	kube.Reflector

	complete chan struct{} // closed by the first complete list
}

// newWatch makes a watch of the hub. One that was refused ends the pause of all others
// when it is refused no more.
func newWatch(hub *Hub, what string, resource kube.Resource, object runtime.Object, feed kube.Store) *scopeWatch {
	w := &scopeWatch{complete: make(chan struct{}), Reflector: kube.Reflector{
		Client: hub.client, What: what, Resource: resource, Object: object, Store: feed,
	}}
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

// listed is called when a complete list was taken over, with the lock of the scope.
func (w *scopeWatch) listed() {
	if !w.isComplete() {
		close(w.complete)
	}
}

// await waits for the first complete list, or for the end of ctx.
func (w *scopeWatch) await(ctx context.Context) error {
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
func (w *scopeWatch) isComplete() bool {
	select {
	case <-w.complete:
		return true
	default:
		return false
	}
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
	return g.news
}

func (g *grants) tell() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.news)
	g.news = make(chan struct{})
}
