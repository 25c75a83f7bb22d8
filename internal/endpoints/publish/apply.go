package publish

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Apply returns the object to send for the write. Base is the object that the
// write was computed from, nil for a create, and stays as it is.
//
//	from base                                   ours
//	foreign labels, annotations, finalizers     labels service-name, managed-by,
//	                                            and pool where there is one
//	ownerReferences to others than the Service  ownerReference to the Service
//	                                            endpoints, ports, addressType
//	                                            last-change-trigger-time,
//	                                            publish-not-ready-addresses
//	                                            resourceVersion of the write
func Apply(base *discoveryv1.EndpointSlice, write Write, target Target) *discoveryv1.EndpointSlice {
	out := &discoveryv1.EndpointSlice{
		TypeMeta:    metav1.TypeMeta{APIVersion: discoveryv1.SchemeGroupVersion.String(), Kind: "EndpointSlice"},
		AddressType: addressType(write.Slice.Family),
		Endpoints:   fromMembers(write.Slice),
		Ports:       fromPorts(write.Slice.Ports),
	}
	if base != nil {
		base.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	}
	out.ManagedFields = nil // the server keeps its own record where none is sent
	out.Name, out.Namespace = write.Slice.Name, target.Namespace
	out.ResourceVersion = ""
	if write.Operation == Update {
		out.ResourceVersion = write.Slice.Version
	}
	metav1.SetMetaDataLabel(&out.ObjectMeta, discoveryv1.LabelServiceName, target.Service)
	metav1.SetMetaDataLabel(&out.ObjectMeta, discoveryv1.LabelManagedBy, target.ManagedBy)
	if target.Pool != "" {
		metav1.SetMetaDataLabel(&out.ObjectMeta, LabelPool, target.Pool)
	}
	delete(out.Annotations, publishNotReady)
	if write.Slice.PublishNotReady {
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, publishNotReady, "true")
	}
	if !write.Trigger.IsZero() {
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, corev1.EndpointsLastChangeTriggerTime,
			write.Trigger.UTC().Format(time.RFC3339Nano))
	}
	out.OwnerReferences = withOwner(out.OwnerReferences, write.Slice.Owner, target)
	return out
}

// fromMembers returns one endpoint with one address for each member, sorted. Endpoints
// in the same state share their conditions.
func fromMembers(slice Slice) []discoveryv1.Endpoint {
	sorted := byAddress(slice.Endpoints)
	out, addresses := make([]discoveryv1.Endpoint, len(sorted)), make([]string, len(sorted))
	conditions := make(map[inventory.State]discoveryv1.EndpointConditions)
	for i, member := range sorted {
		if _, known := conditions[member.State]; !known {
			conditions[member.State] = conditionsOf(member.State, slice.PublishNotReady)
		}
		addresses[i] = member.Address.String()
		out[i] = discoveryv1.Endpoint{Addresses: addresses[i : i+1 : i+1], Conditions: conditions[member.State]}
		if member.Zone != "" {
			out[i].Zone = new(member.Zone)
		}
	}
	return out
}

// fromPorts returns the ports, sorted, with every field set but an appProtocol that
// the Service does not have: consumers ignore a port whose name or number is nil.
func fromPorts(ports []Port) []discoveryv1.EndpointPort {
	sorted := slices.SortedFunc(slices.Values(ports), ComparePorts)
	out := make([]discoveryv1.EndpointPort, 0, len(sorted))
	for _, port := range sorted {
		converted := discoveryv1.EndpointPort{
			Name:     new(port.Name),
			Protocol: new(corev1.Protocol(port.Protocol)),
			Port:     new(int32(port.Number)),
		}
		if port.AppProtocol != "" {
			converted.AppProtocol = new(port.AppProtocol)
		}
		out = append(out, converted)
	}
	return out
}
