package election

import (
	"context"
	"fmt"
)

// Fence runs do while the Lease is surely held, and ends its context when the Lease
// may not be ours any more. It looks at the clock each time, so a process that was
// stopped for a minute writes nothing when it goes on.
// An error that wraps ErrLost says that do was not run, or that the Lease ended it.
func (e *Elector) Fence(ctx context.Context, do func(context.Context) error) error {
	remaining := e.Remaining()
	if remaining == 0 {
		return fmt.Errorf("nothing is written: %w", ErrLost)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remaining, ErrLost)
	defer cancel()
	return do(ctx)
}
