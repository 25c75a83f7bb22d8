package cluster

import (
	"context"
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// findAtOnce is how many slices one answer to Find has.
const findAtOnce = 500

// Find returns the namespaces of the whole cluster that have slices with our managed-by
// value and a label of a pool, sorted, whether they are watched or not. It asks the
// server, which needs the right to list slices in the whole cluster.
func (h *Hub) Find(ctx context.Context) ([]string, error) {
	found := make(map[string]bool)
	empty := func() runtime.Object { return &discoveryv1.EndpointSlice{} }
	options := metav1.ListOptions{Limit: findAtOnce, LabelSelector: discoveryv1.LabelManagedBy + "=" + h.options.ManagedBy + "," + publish.LabelPool}
	for {
		list, err := h.client.Each(ctx, kube.EndpointSlices(""), options, empty, func(object runtime.Object) runtime.Object {
			if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
				found[slice.Namespace] = true
			}
			return nil
		})
		if err != nil {
			return nil, available(err)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return slices.Sorted(maps.Keys(found)), nil
		}
	}
}
