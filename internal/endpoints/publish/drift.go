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

// ports lists ports for a message.
func ports(all []Port) string {
	return "[" + list(all, 5, func(p Port) string {
		return strings.TrimSpace(fmt.Sprintf("%q %d/%s %s", bounded(p.Name), p.Number, p.Protocol, bounded(p.AppProtocol)))
	}) + "]"
}

// The text of a drift is for people: the first differences tell what happened,
// and a slice may hold a thousand endpoints that differ alike.
const (
	maxDifferences = 3
	maxForeignText = 80 // bytes of a foreign value that a message repeats
)

// drift collects what in a slice differs from what we would write.
type drift struct {
	differences []string
	more        int
}

func (d *drift) add(format string, values ...any) {
	if len(d.differences) == maxDifferences {
		d.more++
		return
	}
	d.differences = append(d.differences, fmt.Sprintf(format, values...))
}

// String is empty when nothing differs.
func (d *drift) String() string {
	text := strings.Join(d.differences, "; ")
	if d.more > 0 {
		text += fmt.Sprintf("; and %d more", d.more)
	}
	return text
}

// bounded cuts a foreign value for a message.
func bounded(text string) string {
	if len(text) <= maxForeignText {
		return text
	}
	return strings.ToValidUTF8(text[:maxForeignText], "") + "..."
}
