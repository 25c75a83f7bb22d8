package publish_test

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

const (
	serviceUID  = "6f6f2a0e-0001"
	notReadyToo = "endpoints.ablmnzde.github.io/publish-not-ready-addresses"
)

func target() publish.Target {
	return publish.Target{
		Namespace: "default", Service: "web", SliceName: "web-remote", ManagedBy: "ionos-endpointslice-controller",
		Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}, MaxEndpoints: 100,
	}
}

func member(address string, state inventory.State, zone string) inventory.Member {
	return inventory.Member{Address: netip.MustParseAddr(address), State: state, Zone: zone}
}

// slice is a slice with an endpoint in each state, as plan would ask for it.
var changed = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)

func slice() publish.Slice {
	return publish.Slice{
		Name: "web-remote", Family: publish.IPv4, Owner: serviceUID, Version: "7", Ports: target().Ports, Changed: changed,
		Endpoints: []inventory.Member{
			member("10.0.0.2", inventory.StateReady, "zone-1"),
			member("10.0.0.10", inventory.StateDraining, ""),
			member("10.0.0.11", inventory.StateDown, "zone-2"),
		},
	}
}

func update(s publish.Slice) publish.Write {
	return publish.Write{Operation: publish.Update, Slice: s, Trigger: changed}
}

// object is what a server holds after slice was written.
func object() *discoveryv1.EndpointSlice {
	return publish.Apply(nil, update(slice()), target())
}

// adorned is object with what others and the server add to it.
func adorned() *discoveryv1.EndpointSlice {
	o := object()
	o.Labels["team"] = "edge"
	o.Annotations["note"] = "hands off"
	o.Finalizers = []string{"example.org/keep"}
	o.OwnerReferences = append([]metav1.OwnerReference{
		{APIVersion: "example.org/v1", Kind: "Gateway", Name: "web", UID: "g-1", Controller: new(true)},
	}, o.OwnerReferences...)
	o.UID, o.Generation, o.CreationTimestamp = "e-1", 4, metav1.NewTime(time.Unix(1_700_000_000, 0))
	o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	return o
}

func endpoint(o *discoveryv1.EndpointSlice, address string) *discoveryv1.Endpoint {
	for i := range o.Endpoints {
		if o.Endpoints[i].Addresses[0] == address {
			return &o.Endpoints[i]
		}
	}
	return nil
}

func conditions(ready, serving, terminating *bool) discoveryv1.EndpointConditions {
	return discoveryv1.EndpointConditions{Ready: ready, Serving: serving, Terminating: terminating}
}

func servicePort(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number}
}
