package watch

import (
	"k8s.io/client-go/tools/cache"

	viewcache "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
)

// Transformer is what is applied to the objects of one list of Services.
func (s *Source) Transformer() cache.TransformFunc {
	return s.newStore(0, viewcache.Services, nil).Transformer()
}
