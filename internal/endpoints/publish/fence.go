package publish

import (
	"errors"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// errRefused is a write that a store must never send, whatever asked for it.
var errRefused = errors.New("not sent")

// Fence returns why the write must not be sent, or nil. Base is the object of
// that name as the store knows it now, nil when there is none. A base of
// another version than the write's is a conflict: nothing was decided from it
// yet.
func Fence(base *discoveryv1.EndpointSlice, write Write, target Target) error {
	family, _, ours := target.ParseName(write.Slice.Name)
	switch {
	case !ours || family != write.Slice.Family:
		return fmt.Errorf("%w: %s is not an %s name of the target", errRefused, write.Slice.Name, write.Slice.Family)
	case write.Operation != Create && write.Operation != Update:
		return fmt.Errorf("%w: unknown operation %q", errRefused, write.Operation)
	case write.Operation == Update && write.Slice.Version == "":
		return fmt.Errorf("%w: an update without a version", errRefused)
	case write.Operation == Create && base != nil:
		return fmt.Errorf("it exists at version %s: %w", base.ResourceVersion, ErrConflict)
	case write.Operation == Update && base == nil:
		return fmt.Errorf("it is gone: %w", ErrConflict)
	case write.Operation == Update && base.ResourceVersion != write.Slice.Version:
		return fmt.Errorf("it is at version %s, not %s: %w", base.ResourceVersion, write.Slice.Version, ErrConflict)
	case base == nil:
		return nil
	}
	if refusal := refuse(base, target, family); refusal != nil {
		return fmt.Errorf("%w: %s", errRefused, refusal.Message)
	}
	return nil
}
