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
	err = decode(output, object)
	return publish.ServiceOf(object), err
}

// getSlices returns the slices that the selector finds.
func (s *Kubectl) getSlices(ctx context.Context) ([]discoveryv1.EndpointSlice, error) {
	output, err := s.run(ctx, nil, "get", slicesResource, "--output=json",
		"--selector="+discoveryv1.LabelServiceName+"="+s.options.Target.Service)
	if err != nil {
		return nil, err
	}
	return decodeList(output)
}

// getNamed returns those of the slices of these names that exist, whatever their labels say.
// One run asks for all: dozens may vanish at once.
func (s *Kubectl) getNamed(ctx context.Context, names []string) ([]discoveryv1.EndpointSlice, error) {
	args := append([]string{"get", slicesResource}, names...)
	output, err := s.run(ctx, nil, append(args, "--output=json", "--ignore-not-found")...)
	if err != nil || len(output) == 0 {
		return nil, err
	}
	if len(names) == 1 { // then kubectl prints no list
		one := make([]discoveryv1.EndpointSlice, 1)
		return one, decode(output, &one[0])
	}
	return decodeList(output)
}

// decodeList decodes a list that kubectl printed.
func decodeList(output []byte) ([]discoveryv1.EndpointSlice, error) {
	var list struct {
		Items *[]discoveryv1.EndpointSlice `json:"items"`
	}
	if err := decode(output, &list); err != nil {
		return nil, err
	}
	if list.Items == nil {
		return nil, errors.New("the answer of kubectl has no items")
	}
	return *list.Items, nil
}

// decode decodes what kubectl printed.
func decode(output []byte, into any) error {
	if err := json.Unmarshal(output, into); err != nil {
		return fmt.Errorf("decode the answer of kubectl: %w", err)
	}
	return nil
}
