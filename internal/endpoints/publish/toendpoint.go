package publish

import (
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

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
	return inventory.Member{Address: address, State: state, Zone: value(endpoint.Zone, "")}, true
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
