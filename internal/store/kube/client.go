package kube

import (
	"context"
	"errors"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// ofService selects the slices of a Service.
func ofService(name string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: labels.Set{discoveryv1.LabelServiceName: name}.String()}
}

// send carries out one write by one request, which is never repeated, so that a
// write is never sent again later than it was decided.
func (s *Store) send(ctx context.Context, operation plan.Operation, object *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	answer := &discoveryv1.EndpointSlice{}
	slices := kubeapi.EndpointSlices(object.Namespace)
	var err error
	if operation == plan.Update {
		err = s.client.Update(ctx, slices, object.Name, object, answer)
	} else {
		err = s.client.Create(ctx, slices, object, answer)
	}
	answer.ManagedFields = nil
	return answer, available(err)
}

// read reads one slice from the server's storage, past every cache. It lists instead
// of getting, for the answer of a list also says at which revision the slice was
// absent.
func (s *Store) read(ctx context.Context, name string) (snapshot, error) {
	list := &discoveryv1.EndpointSliceList{}
	if err := s.client.List(ctx, kubeapi.EndpointSlices(s.target.Namespace), kubeapi.Named(name), list); err != nil {
		return snapshot{}, available(err)
	}
	seen := snapshot{at: list.ResourceVersion}
	if len(list.Items) > 0 {
		seen.object = &list.Items[0]
		seen.object.ManagedFields = nil
	}
	return seen, nil
}

// available says of an error in the words of package plan whether no slice can be
// written.
func available(err error) error {
	if failed := new(kubeapi.Error); errors.As(err, &failed) && failed.Unavailable {
		return plan.Unavailable(err, failed.RetryAfter)
	}
	return err
}
