package watch

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
)

// newWatch makes the watch of one kind in one scope.
func (s *Watcher) newWatch(scope int, kind cache.Kind) *kube.Reflector {
	w := &kube.Reflector{
		Client: s.client, What: kind.String(), Resource: kube.Services(s.scopes[scope]), Object: &corev1.Service{},
		Answered: s.requests.note,
	}
	if kind == cache.Slices {
		w.Resource, w.Object = kube.EndpointSlices(s.scopes[scope]), &discoveryv1.EndpointSlice{}
	}
	if s.scopes[scope] != "" {
		w.What += " of namespace " + s.scopes[scope]
	}
	w.Store = s.newStore(scope, kind, w.ListAgain)
	return w
}

// newStore hands on to the cache what a watch tells; again asks for a new complete list.
func (s *Watcher) newStore(scope int, kind cache.Kind, again func()) *kube.Feed[runtime.Object, cache.Input] {
	check := func(wanted bool) {
		if wanted {
			again()
		}
	}
	return &kube.Feed[runtime.Object, cache.Input]{
		Lock: &sync.Mutex{}, Read: s.input,
		Listing: func() func(cache.Input) cache.Input { return s.cache.Listing(kind) },
		Set:     func(in cache.Input) { check(s.cache.Set(scope, kind, in)) },
		Remove:  func(in cache.Input) { check(s.cache.Delete(scope, kind, in)) },
		SetAll: func(all []cache.Input, text string) error {
			revision, err := cache.ParseRevision(text)
			if err != nil {
				return fmt.Errorf("the list of %s: %w", kind, err)
			}
			defer kube.Signal(s.asked)
			return s.cache.Replace(scope, kind, all, revision)
		},
		Seen: func(text string) {
			if revision, err := cache.ParseRevision(text); err == nil {
				s.cache.Bookmark(scope, kind, revision)
			}
		},
	}
}
