package bench

import (
	"context"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
)

// client is a clientset that answers the three writes of the reconciler at once
// and only notes them. The clientset for tests that client-go has would copy
// every object several times, and that would be timed as the reconciler's work.
type client struct {
	kubernetes.Interface // nil: the reconciler calls nothing else
	created, updated     []*discoveryv1.EndpointSlice
	deleted              []string
	// serial numbers the slices that were created.
	serial int
}

// forget makes room for the writes of the next pass.
func (c *client) forget() {
	c.created, c.updated, c.deleted = c.created[:0], c.updated[:0], c.deleted[:0]
}

// DiscoveryV1 is where the reconciler looks for EndpointSlices.
func (c *client) DiscoveryV1() discoveryclient.DiscoveryV1Interface { return group{client: c} }

type group struct {
	discoveryclient.DiscoveryV1Interface
	client *client
}

// EndpointSlices is the same for every namespace: there is only one.
func (g group) EndpointSlices(string) discoveryclient.EndpointSliceInterface {
	return writes{client: g.client}
}

type writes struct {
	discoveryclient.EndpointSliceInterface
	client *client
}

// Create names the slice, as an API server does.
func (w writes) Create(_ context.Context, s *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	w.client.serial++
	created := *s
	created.Name = fmt.Sprintf("%s%d", s.GenerateName, w.client.serial)
	created.UID, created.Generation = types.UID("uid-"+created.Name), 1
	w.client.created = append(w.client.created, &created)
	return &created, nil
}

// Update takes the slice as it is.
func (w writes) Update(_ context.Context, s *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	w.client.updated = append(w.client.updated, s)
	return s, nil
}

// Delete notes the name.
func (w writes) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	w.client.deleted = append(w.client.deleted, name)
	return nil
}
