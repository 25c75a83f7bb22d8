package kubeapi

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Reflection is a list and the watches that go on from it, by functions that mostly
// call a Client's and note what comes of it.
type Reflection struct {
	// Object is of the kind that is watched.
	Object runtime.Object
	List   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	Watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// Store takes what is told.
	Store cache.ReflectorStore
	// Backoff is the wait between two watches.
	Backoff wait.Backoff
}

// Run asks for a complete list and watches from there on, until ctx ends or the next
// complete list is due. The list is never older than the call: a server may answer
// one of resourceVersion "0", which client-go asks for, from any time in the past.
// A watch goes on where the one before ended, but not after a refused connection.
func (r Reflection) Run(ctx context.Context) error {
	logger := klog.New(nil)
	reflector := cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			if options.ResourceVersion == "0" {
				options.ResourceVersion = ""
			}
			return r.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := r.Watch(ctx, options)
			if utilnet.IsConnectionRefused(err) {
				// The server was away, and may come back from a backup: it says nothing to a
				// watch from a revision that it has not reached. client-go would watch on.
				err = errors.New(err.Error())
			}
			return events, err
		},
	}, r.Object, r.Store, cache.ReflectorOptions{Logger: &logger, Backoff: &r.Backoff})
	return reflector.ListAndWatchWithContext(quiet(ctx))
}

// quiet keeps client-go from logging: what goes wrong is in the errors.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.New(nil)) }
