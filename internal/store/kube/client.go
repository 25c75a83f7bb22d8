package kube

import (
	"context"
	"errors"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// ofService selects the slices of a Service.
func ofService(name string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: labels.Set{discoveryv1.LabelServiceName: name}.String()}
}

// send carries out one write by one request, which is never repeated, so that a
// write is never sent again later than it was decided. Without an error it returns
// the server's answer.
func (s *Store) send(ctx context.Context, write plan.Write, base *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	if err := manifest.Fence(base, write, s.target); err != nil {
		return nil, err
	}
	resource := kubeapi.EndpointSlices(s.target.Namespace)
	object, answer := manifest.Apply(base, write, s.target), &discoveryv1.EndpointSlice{}
	var err error
	if write.Operation == plan.Update {
		err = s.client.Update(ctx, resource, object.Name, object, answer)
	} else {
		err = s.client.Create(ctx, resource, object, answer)
	}
	if err != nil {
		return nil, available(err)
	}
	return answer, nil
}

// read reads one slice from the server's storage, past every cache, nil for one that
// is absent. It lists instead of getting, for the answer of a list also says at which
// revision the slice was absent.
func (s *Store) read(ctx context.Context, name string) (object *discoveryv1.EndpointSlice, revision string, err error) {
	list := &discoveryv1.EndpointSliceList{}
	if err := s.client.List(ctx, kubeapi.EndpointSlices(s.target.Namespace), kubeapi.Named(name), list); err != nil {
		return nil, "", available(err)
	}
	if len(list.Items) > 0 {
		object = &list.Items[0]
	}
	return object, list.ResourceVersion, nil
}

// available says of an error in the words of package plan whether no slice can be
// written.
func available(err error) error {
	if failed := new(kubeapi.Error); errors.As(err, &failed) && failed.Unavailable {
		return plan.Unavailable(err, failed.RetryAfter)
	}
	return err
}
