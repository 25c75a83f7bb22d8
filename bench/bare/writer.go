package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// maxPerSlice is the most that the API server takes.
const maxPerSlice = 1_000

// writer owns the slices of one Service: it reads none.
type writer struct {
	client             kubernetes.Interface
	namespace, service string
	port               int32
	written            map[string]written
}

// written is a slice as it was written last.
type written struct {
	endpoints []endpoint
	version   string
}

type endpoint struct {
	address string
	ready   bool
}

// endpointOf is the zero endpoint when the object is no node.
func endpointOf(object any) endpoint {
	e := endpoint{}
	node, isNode := object.(*corev1.Node)
	if !isNode {
		return e
	}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && e.address == "" {
			e.address = a.Address
		}
	}
	for _, c := range node.Status.Conditions {
		e.ready = e.ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	return e
}

// write makes the slices say what the nodes are.
func (w *writer) write(ctx context.Context, nodes []any) error {
	endpoints := make([]endpoint, 0, len(nodes))
	for _, node := range nodes {
		endpoints = append(endpoints, endpointOf(node))
	}
	slices.SortFunc(endpoints, func(a, b endpoint) int { return strings.Compare(a.address, b.address) })
	number := 0
	for chunk := range slices.Chunk(endpoints, maxPerSlice) {
		number++
		name := fmt.Sprintf("%s-%d", w.service, number)
		before, exists := w.written[name]
		if exists && slices.Equal(before.endpoints, chunk) {
			continue
		}
		version, err := w.put(ctx, name, before.version, chunk)
		if err != nil {
			return fmt.Errorf("write slice %s: %w", name, err)
		}
		w.written[name] = written{slices.Clone(chunk), version}
	}
	return nil
}

// put creates the slice when there was no version of it.
func (w *writer) put(ctx context.Context, name, version string, endpoints []endpoint) (string, error) {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version, Labels: map[string]string{
			discoveryv1.LabelServiceName: w.service, discoveryv1.LabelManagedBy: "bare",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: &w.port, Protocol: new(corev1.ProtocolTCP)}},
	}
	for _, e := range endpoints {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{e.address},
			Conditions: discoveryv1.EndpointConditions{Ready: &e.ready, Serving: &e.ready, Terminating: new(false)},
		})
	}
	api := w.client.DiscoveryV1().EndpointSlices(w.namespace)
	write := func() (*discoveryv1.EndpointSlice, error) { return api.Update(ctx, slice, metav1.UpdateOptions{}) }
	if version == "" {
		write = func() (*discoveryv1.EndpointSlice, error) { return api.Create(ctx, slice, metav1.CreateOptions{}) }
	}
	answer, err := write()
	if err != nil {
		return "", err
	}
	return answer.ResourceVersion, nil
}
