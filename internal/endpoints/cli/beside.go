package cli

import (
	"context"
	"sync"
)

// beside does something, and runs others until that ends.
func beside(ctx context.Context, do func(context.Context) error, others ...func(context.Context)) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for _, other := range others {
		running.Go(func() { other(ctx) })
	}
	return do(ctx)
}
