package viewsource

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/viewcache"
)

// newWatch makes the watch of one kind in one scope.
func (s *Source) newWatch(scope int, kind viewcache.Kind) *kubeapi.Reflector {
	w := &kubeapi.Reflector{
		Client: s.client, What: kind.String(), Resource: kubeapi.Services(s.scopes[scope]), Object: &corev1.Service{},
		Answered: s.requests.note,
	}
	if kind == viewcache.Slices {
		w.Resource, w.Object = kubeapi.EndpointSlices(s.scopes[scope]), &discoveryv1.EndpointSlice{}
	}
	if s.scopes[scope] != "" {
		w.What += " of namespace " + s.scopes[scope]
	}
	w.Store = s.newStore(scope, kind, w.ListAgain)
	return w
}

// store hands on to the cache what a watch tells.
type store struct {
	kubeapi.Feed[runtime.Object, viewcache.Input]

	bookmark func(viewcache.Revision)
}

// newStore makes it; again asks for a new complete list.
func (s *Source) newStore(scope int, kind viewcache.Kind, again func()) *store {
	check := func(wanted bool) {
		if wanted {
			again()
		}
	}
	return &store{
		Feed: kubeapi.Feed[runtime.Object, viewcache.Input]{
			Lock: &sync.Mutex{}, Read: s.input,
			Listing: func() func(viewcache.Input) viewcache.Input { return s.cache.Listing(kind) },
			Set:     func(in viewcache.Input) { check(s.cache.Set(scope, kind, in)) },
			Remove:  func(in viewcache.Input) { check(s.cache.Delete(scope, kind, in)) },
			SetAll: func(all []viewcache.Input, text string) error {
				revision, err := viewcache.ParseRevision(text)
				if err != nil {
					return fmt.Errorf("the list of %s: %w", kind, err)
				}
				defer kubeapi.Signal(s.asked)
				return s.cache.Replace(scope, kind, all, revision)
			},
		},
		bookmark: func(revision viewcache.Revision) { s.cache.Bookmark(scope, kind, revision) },
	}
}

// Bookmark says that nothing else happened up to the revision.
func (s *store) Bookmark(text string) error {
	revision, err := viewcache.ParseRevision(text)
	if err == nil {
		s.bookmark(revision)
	}
	return err
}
