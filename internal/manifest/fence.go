package manifest

import (
	"errors"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// errUnfenced is a write that a store must never send, whatever asked for it.
var errUnfenced = errors.New("refused to send")

// Fence returns why the write must not be sent, or nil. Base is the object of
// that name as the store knows it now, nil when there is none. A base of
// another version than the write's is a conflict: nobody has decided anything
// about it yet.
func Fence(base *discoveryv1.EndpointSlice, write plan.Write, target plan.Target) error {
	name := write.Slice.Name
	family, _, ours := target.ParseName(name)
	switch {
	case !ours || family != write.Slice.Family:
		return fmt.Errorf("%w slice %s: it is no %s name of the target", errUnfenced, name, write.Slice.Family)
	case write.Operation != plan.Create && write.Operation != plan.Update:
		return fmt.Errorf("%w slice %s: unknown operation %q", errUnfenced, name, write.Operation)
	case write.Operation == plan.Update && write.Slice.Version == "":
		return fmt.Errorf("%w slice %s: an update without a version", errUnfenced, name)
	case write.Operation == plan.Create && base != nil:
		return fmt.Errorf("create slice %s: it exists at version %s: %w", name, base.ResourceVersion, plan.ErrConflict)
	case write.Operation == plan.Update && base == nil:
		return fmt.Errorf("update slice %s: it is gone: %w", name, plan.ErrConflict)
	case write.Operation == plan.Update && base.ResourceVersion != write.Slice.Version:
		return fmt.Errorf("update slice %s: it is at version %s, not %s: %w",
			name, base.ResourceVersion, write.Slice.Version, plan.ErrConflict)
	}
	if base == nil {
		return nil
	}
	if refusal := refuse(base, target, family); refusal != nil {
		return fmt.Errorf("%w: %s", errUnfenced, refusal.Message)
	}
	return nil
}
