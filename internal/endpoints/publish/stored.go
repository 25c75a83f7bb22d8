package publish

import (
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Stored holds what the API server answered to a write against what was sent. Where they
// differ in what is ours, the error wraps ErrStoredOtherwise and names a difference.
func Stored(answer *discoveryv1.EndpointSlice, write Write, target Target) error {
	is, refusal := ToSlice(answer, target)
	why := ""
	switch want := write.Slice; {
	case refusal != nil:
		why = refusal.Message
	case is.Same(want):
		return nil
	case is.Drift != "":
		why = is.Drift
	case !slices.Equal(is.Endpoints, want.Endpoints):
		why = difference(is.Endpoints, want.Endpoints)
	case !slices.Equal(is.Ports, want.Ports):
		why = fmt.Sprintf("the ports are %s, not %s", ports(is.Ports), ports(want.Ports))
	case is.Owner != want.Owner:
		why = fmt.Sprintf("the ownerReference names the UID %q, not %q", is.Owner, want.Owner)
	default:
		why = "the annotation " + publishNotReady + " is another one"
	}
	return fmt.Errorf("%w: %s; look for an admission policy or a webhook that changes EndpointSlices, and exempt slices with the label %s=%s",
		ErrStoredOtherwise, why, discoveryv1.LabelManagedBy, target.ManagedBy)
}

// difference names the first endpoint that is another one.
func difference(is, want []inventory.Member) string {
	for _, m := range slices.SortedFunc(slices.Values(slices.Concat(want, is)), inventory.CompareMembers) {
		stored, sent := inventory.StateOf(is, m.Address), inventory.StateOf(want, m.Address)
		if stored != sent {
			return fmt.Sprintf("endpoint %s is %s, not %s", m.Address, stored, sent)
		}
	}
	return "the zone of an endpoint is another one"
}

// mostNamedPorts is how many ports a message names.
const mostNamedPorts = 5

func ports(all []Port) string {
	var names []string
	for _, p := range all[:min(len(all), mostNamedPorts)] {
		names = append(names, strings.TrimSpace(fmt.Sprintf("%q %d/%s %s", bounded(p.Name), p.Number, p.Protocol, bounded(p.AppProtocol))))
	}
	if more := len(all) - mostNamedPorts; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return "[" + strings.Join(names, ", ") + "]"
}
