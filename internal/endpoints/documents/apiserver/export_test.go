package apiserver

import (
	"k8s.io/client-go/tools/cache"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// SetRoom sets how many bytes the bindings of one namespace may take. It comes before Run.
func (w *Watcher) SetRoom(bytes int) {
	for _, k := range w.kinds {
		k.most = bytes
	}
}

// Transformer is what each binding of one list goes through as it comes.
func (w *Watcher) Transformer() cache.TransformFunc {
	return w.kindOf(v1alpha1.KindEndpointBinding).watch.Store.(*kube.Feed[*kube.Raw, *object]).Transformer()
}
