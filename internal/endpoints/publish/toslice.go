package publish

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// LabelPrefix is what the names of our labels and annotations begin with, and LabelPool is
// the label of a slice that names the pool it is filled from.
const (
	LabelPrefix = "endpoints.ablmnzde.github.io/"
	LabelPool   = LabelPrefix + "pool"
)

// ToSlice returns what the object says in the words of this package, or a
// refusal when the object has a name of the target but is not ours to touch:
//
//	managed-by  service-name  addressType    result
//	another     any           any            refusal: of another manager
//	ours        another       any            refusal: of another installation
//	ours        ours or none  does not fit   refusal: it cannot be changed
//	ours        ours or none  fits the name  slice, with drift if need be
//
// What Slice cannot express is named in its Drift. What is irregular is
// read as consumers read it, so that reading a slice never takes a working backend
// away.
func ToSlice(object *discoveryv1.EndpointSlice, target Target) (Slice, *Refusal) {
	family, _, _ := target.ParseName(object.Name)
	if refusal := refuse(object, target, family); refusal != nil {
		return Slice{}, refusal
	}
	var found drift
	if got := object.Labels[discoveryv1.LabelServiceName]; got != target.Service {
		found.add("label %s is %q, not %q", discoveryv1.LabelServiceName, bounded(got), target.Service)
	}
	if got := object.Labels[LabelPool]; got != target.Pool && target.Pool != "" && !target.Adopted() {
		found.add("label %s is %q, not %q", LabelPool, bounded(got), target.Pool)
	}
	notReadyToo, annotated := object.Annotations[publishNotReady]
	if annotated && notReadyToo != "true" {
		found.add("annotation %s is %q, not %q", publishNotReady, bounded(notReadyToo), "true")
	}
	slice := Slice{
		Name:      object.Name,
		Family:    family,
		Owner:     toOwner(object.OwnerReferences, target, &found),
		Endpoints: toMembers(object, family, &found),
		Ports:     toPorts(object.Ports, &found),
		Version:   object.ResourceVersion,
		Changed:   ChangedAt(object),

		PublishNotReady: notReadyToo == "true",
	}
	slice.Drift = found.String()
	return slice, nil
}

// ChangedAt is when a slice was last changed as it says itself, zero where it does not.
func ChangedAt(object *discoveryv1.EndpointSlice) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, object.Annotations[corev1.EndpointsLastChangeTriggerTime])
	return at
}

// refuse returns why the object is not ours to touch, or nil.
func refuse(object *discoveryv1.EndpointSlice, target Target, family Family) *Refusal {
	service := object.Labels[discoveryv1.LabelServiceName]
	manager, labelled := object.Labels[discoveryv1.LabelManagedBy]
	switch {
	case !labelled:
		return &Refusal{Name: object.Name, Message: fmt.Sprintf(
			"slice %s/%s has no label %s, so it is left alone: delete it, label it with %q, or set TARGET_ENDPOINTSLICE_NAME to another name",
			target.Namespace, object.Name, discoveryv1.LabelManagedBy, target.ManagedBy)}
	case manager != target.ManagedBy:
		return &Refusal{Name: object.Name, Message: fmt.Sprintf(
			"slice %s/%s is managed by %q, not by %q, so it is left alone: set TARGET_ENDPOINTSLICE_NAME to another name, or delete the slice if %q is not in use any more",
			target.Namespace, object.Name, bounded(manager), target.ManagedBy, bounded(manager))}
	case service != "" && service != target.Service:
		return &Refusal{Name: object.Name, Message: fmt.Sprintf(
			"slice %[1]s/%[2]s has the managed-by label of this daemon, but belongs to Service %[3]q, not to %[4]q: "+
				"it is left alone, and its endpoints go into slices with other numbers; if two installations use this slice name, set TARGET_ENDPOINTSLICE_NAME of one of them to another name; "+
				"if TARGET_SERVICE_NAME was changed and Service %[3]q is not in use any more, run \"kubectl -n %[1]s delete endpointslice %[2]s\"",
			target.Namespace, object.Name, bounded(service), target.Service)}
	case object.AddressType != addressType(family):
		return &Refusal{Name: object.Name, Message: fmt.Sprintf(
			"slice %s/%s has addressType %s instead of %s, which cannot be changed: delete the slice; it is created again",
			target.Namespace, object.Name, object.AddressType, family)}
	}
	return nil
}

// PortsOf returns the ports of a slice as consumers read them, sorted.
func PortsOf(object *discoveryv1.EndpointSlice) []Port { return toPorts(object.Ports, &drift{}) }

// toPorts returns the ports, sorted; a port that a consumer would ignore is left
// out.
func toPorts(ports []discoveryv1.EndpointPort, found *drift) []Port {
	var out []Port
	for _, port := range ports {
		if port.Port == nil || *port.Port < 1 || *port.Port > 65535 {
			found.add("a port has no usable number")
			continue
		}
		if port.Name == nil || port.Protocol == nil {
			found.add("port %d has no name or protocol", *port.Port)
		}
		if port.AppProtocol != nil && *port.AppProtocol == "" {
			found.add("port %d has an empty appProtocol", *port.Port)
		}
		out = append(out, Port{
			Name:     ptr.Deref(port.Name, ""),
			Protocol: Protocol(ptr.Deref(port.Protocol, "TCP")),
			Number:   uint16(*port.Port), // the range was checked above

			AppProtocol: ptr.Deref(port.AppProtocol, ""),
		})
	}
	if !slices.IsSortedFunc(out, ComparePorts) {
		found.add("the ports are not sorted")
		slices.SortFunc(out, ComparePorts)
	}
	return out
}

// addressType is the family as the API spells it.
func addressType(family Family) discoveryv1.AddressType {
	return discoveryv1.AddressType(family.String())
}

// toMembers returns the members of the slice, each once, sorted by address.
func toMembers(object *discoveryv1.EndpointSlice, family Family, found *drift) []inventory.Member {
	notReadyToo := object.Annotations[publishNotReady] == "true"
	out := make([]inventory.Member, 0, len(object.Endpoints))
	at := make(map[netip.Addr]int, len(object.Endpoints))
	for i := range object.Endpoints {
		member, ok := toMember(&object.Endpoints[i], family, notReadyToo, found)
		if !ok {
			continue
		}
		if first, twice := at[member.Address]; twice {
			found.add("address %s is listed twice", member.Address)
			out[first] = better(out[first], member)
			continue
		}
		at[member.Address] = len(out)
		out = append(out, member)
	}
	if !slices.IsSortedFunc(out, inventory.CompareMembers) {
		found.add("the endpoints are not sorted")
		slices.SortFunc(out, inventory.CompareMembers)
	}
	return out
}

// toMember returns the member of one endpoint, and false when it has no address
// that a slice of this family may hold.
func toMember(endpoint *discoveryv1.Endpoint, family Family, notReadyToo bool, found *drift) (inventory.Member, bool) {
	if len(endpoint.Addresses) != 1 {
		found.add("an endpoint has %d addresses", len(endpoint.Addresses))
	}
	if len(endpoint.Addresses) == 0 {
		return inventory.Member{}, false
	}
	text := endpoint.Addresses[0]
	address, err := netip.ParseAddr(text)
	if err != nil || address.Is4In6() || address.Zone() != "" || FamilyOf(address) != family {
		found.add("%q is not an %s address", bounded(text), family)
		return inventory.Member{}, false
	}
	if address.String() != text {
		found.add("address %q is not in canonical form", bounded(text))
	}
	state := toState(endpoint.Conditions, notReadyToo)
	if !asWritten(endpoint.Conditions, state, notReadyToo) {
		found.add("the conditions of %s are %s", address, words(endpoint.Conditions))
	}
	if extra := extraField(endpoint); extra != "" {
		found.add("endpoint %s has %s", address, extra)
	}
	return inventory.Member{Address: address, State: state, Zone: ptr.Deref(endpoint.Zone, "")}, true
}

// extraField names a field of the endpoint that we never write, or is empty.
func extraField(endpoint *discoveryv1.Endpoint) string {
	switch {
	case endpoint.Hostname != nil:
		return "a hostname"
	case endpoint.NodeName != nil:
		return "a nodeName"
	case endpoint.TargetRef != nil:
		return "a targetRef"
	case endpoint.Hints != nil:
		return "hints"
	case endpoint.DeprecatedTopology != nil:
		return "a deprecatedTopology"
	case endpoint.Zone != nil && *endpoint.Zone == "":
		return "an empty zone"
	}
	return ""
}

// better returns the member in the state that serves more: when one address is
// listed twice, a consumer may use either.
func better(a, b inventory.Member) inventory.Member {
	if b.State < a.State {
		return b
	}
	return a
}

// YAML renders a slice for people and for comparison: same state, same bytes. The
// server's own bookkeeping (managedFields, resourceVersion, uid, generation,
// creationTimestamp) is not part of the state and is left out.
func YAML(object *discoveryv1.EndpointSlice) ([]byte, error) {
	out := *object // rendering leaves what is shared alone
	out.APIVersion, out.Kind = discoveryv1.SchemeGroupVersion.String(), "EndpointSlice"
	out.ManagedFields = nil
	out.ResourceVersion, out.UID, out.Generation = "", "", 0
	out.CreationTimestamp = metav1.NewTime(time.Time{})
	if out.Endpoints == nil {
		out.Endpoints = []discoveryv1.Endpoint{}
	}
	document, err := yaml.Marshal(&out)
	if err != nil {
		return nil, fmt.Errorf("render slice %s as YAML: %w", object.Name, err)
	}
	return document, nil
}
