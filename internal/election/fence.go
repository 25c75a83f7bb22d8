package election

import (
	"context"
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// Store is what a Fence stands before.
type Store interface {
	Load(ctx context.Context) (plan.State, error)
	Write(ctx context.Context, write plan.Write) error
}

// Fence is a Store that writes only while the Lease is surely held. It looks at
// the clock for every write, so a process that was stopped for a minute writes
// nothing when it goes on, however it comes to its senses.
type Fence struct {
	elector *Elector
	store   Store
}

// Fence puts one before the store.
func (e *Elector) Fence(store Store) *Fence { return &Fence{e, store} }

// Load reads as the store does.
func (f *Fence) Load(ctx context.Context) (plan.State, error) { return f.store.Load(ctx) }

// Write lets the store write, and ends the request when the Lease may not be
// ours any more. An error that wraps ErrLost says that nothing was tried.
func (f *Fence) Write(ctx context.Context, write plan.Write) error {
	remaining := f.elector.Remaining()
	if remaining == 0 {
		return fmt.Errorf("nothing is written: %w", ErrLost)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remaining, ErrLost)
	defer cancel()
	return f.store.Write(ctx, write)
}

// Changed is the store's own, nil if it has none.
func (f *Fence) Changed() <-chan struct{} {
	if n, ok := f.store.(interface{ Changed() <-chan struct{} }); ok {
		return n.Changed()
	}
	return nil
}
