package kube

import (
	"context"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
)

// watched is what a watch tells of, and which store takes it.
type watched struct {
	resource  kubeapi.Resource
	selection metav1.ListOptions
	object    runtime.Object
	list      func() runtime.Object
	store     cache.ReflectorStore
	fresh     *freshness
}

// watchServices keeps the Services up to date until ctx ends.
func (s *scope) watchServices(ctx context.Context) {
	w := watched{
		resource: kubeapi.Services(s.namespace), store: s.servicesFeed(), fresh: &s.services,
		object: &corev1.Service{}, list: func() runtime.Object { return &corev1.ServiceList{} },
	}
	if only := s.hub.options.Only; only != nil {
		w.selection = kubeapi.Named(only.Service)
	}
	w.run(ctx, s.hub.client)
}

// watchSlices keeps the slices up to date until ctx ends.
func (s *scope) watchSlices(ctx context.Context) {
	w := watched{
		resource: kubeapi.EndpointSlices(s.namespace), store: s.slicesFeed(), fresh: &s.slices,
		object: &discoveryv1.EndpointSlice{}, list: func() runtime.Object { return &discoveryv1.EndpointSliceList{} },
	}
	if only := s.hub.options.Only; only != nil {
		w.selection.LabelSelector = labels.Set{discoveryv1.LabelServiceName: only.Service}.String()
	}
	w.run(ctx, s.hub.client)
}

const (
	// longestWatch is how long a watch lasts at the most, before it is opened anew: a
	// right that was taken away is noticed only then.
	longestWatch = time.Minute
	// pauseMin and pauseMax bound the wait before the next attempt, before jitter.
	pauseMin = 200 * time.Millisecond
	pauseMax = 2 * time.Second
)

// run goes on until ctx ends. An API server that was away is
// asked again within three seconds: client-go's own back-off goes up to a minute, in
// which a slice would be written on what was known before.
func (w watched) run(ctx context.Context, client *kubeapi.Client) {
	reflection := kubeapi.Reflection{
		Object: w.object, Store: w.store,
		Backoff: wait.Backoff{Duration: pauseMin, Factor: 2, Jitter: 0.5, Steps: 10, Cap: pauseMax},
		List: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := w.list()
			err := client.List(ctx, w.resource, w.selected(options), list)
			w.fresh.answered(err)
			return list, err
		},
		Watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			seconds := int64((longestWatch - rand.N(longestWatch/4)).Seconds())
			options.TimeoutSeconds = &seconds
			events, err := client.Watch(ctx, w.resource, w.selected(options))
			w.fresh.answered(err)
			return events, err
		},
	}
	for pause := pauseMin; ctx.Err() == nil; pause = min(2*pause, pauseMax) {
		began := time.Now()
		_ = reflection.Run(ctx) // its error was noted where it arose
		if time.Since(began) > longestWatch/2 {
			pause = pauseMin
		}
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// selected limits the reflector's request to what is watched.
func (w watched) selected(options metav1.ListOptions) metav1.ListOptions {
	options.LabelSelector, options.FieldSelector = w.selection.LabelSelector, w.selection.FieldSelector
	return options
}
