package manifest

import (
	"errors"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// errRefused is a write that a store must never send, whatever asked for it.
var errRefused = errors.New("not sent")

// Fence returns why the write must not be sent, or nil. Base is the object of
// that name as the store knows it now, nil when there is none. A base of
// another version than the write's is a conflict: nothing was decided from it
// yet.
func Fence(base *discoveryv1.EndpointSlice, write publish.Write, target publish.Target) error {
	family, _, ours := target.ParseName(write.Slice.Name)
	switch {
	case !ours || family != write.Slice.Family:
		return fmt.Errorf("%w: %s is not an %s name of the target", errRefused, write.Slice.Name, write.Slice.Family)
	case write.Operation != publish.Create && write.Operation != publish.Update:
		return fmt.Errorf("%w: unknown operation %q", errRefused, write.Operation)
	case write.Operation == publish.Update && write.Slice.Version == "":
		return fmt.Errorf("%w: an update without a version", errRefused)
	case write.Operation == publish.Create && base != nil:
		return fmt.Errorf("it exists at version %s: %w", base.ResourceVersion, publish.ErrConflict)
	case write.Operation == publish.Update && base == nil:
		return fmt.Errorf("it is gone: %w", publish.ErrConflict)
	case write.Operation == publish.Update && base.ResourceVersion != write.Slice.Version:
		return fmt.Errorf("it is at version %s, not %s: %w", base.ResourceVersion, write.Slice.Version, publish.ErrConflict)
	case base == nil:
		return nil
	}
	if refusal := refuse(base, target, family); refusal != nil {
		return fmt.Errorf("%w: %s", errRefused, refusal.Message)
	}
	return nil
}
