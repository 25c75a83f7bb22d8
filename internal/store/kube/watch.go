package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/redact"
)

// watched is what a watch fills.
type watched interface {
	cache.ReflectorStore
	failed(err error)
}

// watch keeps the store up to date until ctx ends. An API server that was away
// is asked again within three seconds: client-go's own back-off goes up to a
// minute, in which a slice would be written on what was known before.
func (c *client) watch(ctx context.Context, r resource, store watched, kind runtime.Object) {
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 2 * time.Second}
	logger := klog.FromContext(ctx)
	reflector := cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			if options.ResourceVersion == "0" {
				options.ResourceVersion = "" // "0" may be answered from any time in the past
			}
			list, err := c.list(ctx, r, selected(options, r.selection))
			store.failed(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options = selected(options, r.selection)
			options.Watch = true
			way := reach{lines: c.connections}
			events, err := r.rest.Get().Namespace(r.namespace).Resource(r.name).
				VersionedParams(&options, c.codec).MaxRetries(0).Watch(way.trace(ctx))
			store.failed(way.judge(err, 0))
			return events, err
		},
	}, kind, store, cache.ReflectorOptions{Name: r.name, Logger: &logger, Backoff: &backoff})
	reflector.RunWithContext(ctx)
}

// selected limits the reflector's request to what is watched.
func selected(options, selection metav1.ListOptions) metav1.ListOptions {
	options.LabelSelector, options.FieldSelector = selection.LabelSelector, selection.FieldSelector
	return options
}

// silent keeps client-go from logging: what goes wrong is told by Load.
func silent(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.New(nil))
}

// syncing is where a watch stands before its first answer.
type syncing struct {
	what string
	done chan struct{} // closed by the first answer
	once sync.Once

	mu   sync.Mutex
	last error
}

// reached is called by each complete answer.
func (s *syncing) reached() { s.once.Do(func() { close(s.done) }) }

// failed notes the last error, nil for a request that was accepted.
func (s *syncing) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = err
}

// await waits for the first answer, or for the end of ctx.
func (s *syncing) await(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return fmt.Errorf("no answer yet to the watch of %s: %w", s.what, ctx.Err())
	}
	return fmt.Errorf("no answer yet to the watch of %s: %w; last: %w", s.what, ctx.Err(), redact.Brief(s.last))
}
