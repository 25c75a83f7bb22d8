package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// slicesResource names version and group, so that no other resource of that
// name can be meant.
const slicesResource = "endpointslices.v1.discovery.k8s.io"

// getService returns the Service; the zero one where there is none.
func (s *Kubectl) getService(ctx context.Context) (publish.Service, error) {
	output, err := s.run(ctx, nil, "get", "services", s.options.Target.Service, "--output=json", "--ignore-not-found")
	if err != nil || len(output) == 0 {
		return publish.Service{}, err
	}
	object := &corev1.Service{}
	if err := decode(output, object); err != nil {
		return publish.Service{}, err
	}
	return publish.ServiceOf(object), nil
}

// getSlices returns the slices that the selector finds: those of our names, and
// the others, which are only looked at.
func (s *Kubectl) getSlices(ctx context.Context) (ours map[string]*discoveryv1.EndpointSlice, others []*discoveryv1.EndpointSlice, err error) {
	output, err := s.run(ctx, nil, "get", slicesResource, "--output=json",
		"--selector="+discoveryv1.LabelServiceName+"="+s.options.Target.Service)
	if err != nil {
		return nil, nil, err
	}
	var list struct {
		Items *[]discoveryv1.EndpointSlice `json:"items"`
	}
	if err := decode(output, &list); err != nil {
		return nil, nil, err
	}
	if list.Items == nil {
		return nil, nil, errors.New("the answer of kubectl has no items")
	}
	ours = make(map[string]*discoveryv1.EndpointSlice)
	for i := range *list.Items {
		object := &(*list.Items)[i]
		if _, _, ok := s.options.Target.ParseName(object.Name); ok {
			ours[object.Name] = object
			continue
		}
		others = append(others, object)
	}
	return ours, others, nil
}

// getSlice returns one slice, whatever its labels say; nil where there is none.
func (s *Kubectl) getSlice(ctx context.Context, name string) (*discoveryv1.EndpointSlice, error) {
	output, err := s.run(ctx, nil, "get", slicesResource, name, "--output=json", "--ignore-not-found")
	if err != nil || len(output) == 0 {
		return nil, err
	}
	object := &discoveryv1.EndpointSlice{}
	return object, decode(output, object)
}

// decode decodes what kubectl printed.
func decode(output []byte, into any) error {
	if err := json.Unmarshal(output, into); err != nil {
		return fmt.Errorf("decode the answer of kubectl: %w", err)
	}
	return nil
}
