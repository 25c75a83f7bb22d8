package fleet

import (
	"context"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
)

// Write makes one object of an Envoy what it is to be.
func Write(ctx context.Context, with client.Client, e *v1alpha1.Envoy, wanted client.Object) (*manifests.Problem, error) {
	return (&reconciler{client: with, live: with}).write(ctx, e, wanted)
}

// Pods are those of an Envoy, with what each waits for.
func Pods(ctx context.Context, with client.Client, e *v1alpha1.Envoy) ([]manifests.Pod, error) {
	all, err := (&reconciler{client: with}).pods(ctx, e)
	return states(all), err
}

// Kept are the files that the ConfigMap of an Envoy without Pods keeps.
func Kept(ctx context.Context, with client.Client, e *v1alpha1.Envoy) (map[string]string, error) {
	return (&reconciler{client: with}).kept(ctx, e, nil)
}

// The fence before what an operator writes.
const RenewDeadline = renewDeadline

// ErrNotLeader is what a write ends with that is not sent.
var ErrNotLeader = errNotLeader

// Fence puts one fence before several ways to the API server.
func Fence(ways ...http.RoundTripper) []http.RoundTripper {
	f := &fence{}
	fenced := make([]http.RoundTripper, len(ways))
	for i, way := range ways {
		fenced[i] = f.around(way)
	}
	return fenced
}

// Lighten is what the cache keeps of an object.
var Lighten = lighten

// Caching is how it is kept.
var Caching = caching
