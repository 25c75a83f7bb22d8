package watch

import (
	"strings"

	"k8s.io/client-go/tools/cache"

	viewcache "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
)

// Transformer is what is applied to the objects of one list of Services.
func (s *Watcher) Transformer() cache.TransformFunc {
	return s.newStore(0, viewcache.Services, nil).Transformer()
}

// Names is how many Envoys of a namespace are known by name.
func (s *Envoys) Names(namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := 0
	for _, one := range s.scopes {
		for name := range one.all {
			if strings.HasPrefix(name, namespace+"/") {
				names++
			}
		}
	}
	return names
}
