package main

import (
	"context"
	"fmt"
	"time"
)

// nothingLost reports whether the slices are unchanged: no write since the act, and
// every endpoint that is left is ready.
func (s *show) nothingLost(w *world) bool {
	return w.writes == 0 && w.allReady(s.addresses(lastNodes))
}

// breakSource breaks the inventory in three ways, each after the other.
func (s *show) breakSource(ctx context.Context) error {
	readFails := func(w *world) bool { return w.failures > 0 }
	for _, way := range []struct {
		words, what string
		do          func() error
		noticed     func(*world) bool
	}{
		{"The second half of the file is missing:", "a failed read of half a file", s.inventory.truncate, readFails},
		{"The file is complete, but lists no node ([]):", "mode Hold", s.inventory.empty, func(w *world) bool { return w.mode == "Hold" }},
		{"The file is missing:", "a failed read of no file", s.inventory.remove, readFails},
	} {
		s.out.next(way.words)
		s.begin()
		if err := way.do(); err != nil {
			return err
		}
		if err := s.await(ctx, way.what, way.noticed); err != nil {
			return err
		}
		if err := s.watch(ctx, "no write, and all endpoints ready", s.nothingLost); err != nil {
			return fmt.Errorf("after %s: %w", way.what, err)
		}
	}
	s.table()
	s.out.conclude("No endpoint was lost and nothing was written. However often the list is empty, an endpoint that passes its health check stays. Endpoints that are down are removed when EMPTY_RESULT_THRESHOLD=10 such lists in a row left them out. A broken file never removes anything.")
	return nil
}

func (s *show) recoverSource(ctx context.Context) error {
	s.begin()
	nodes := s.nodes(fleetSize)
	nodes[leaver].Leaving = true
	if err := s.inventory.write(nodes); err != nil {
		return err
	}
	if err := s.await(ctx, "mode Publish", func(w *world) bool { return w.recoveries > 0 && w.mode == "Publish" }); err != nil {
		return err
	}
	if err := s.check("no write, and all endpoints ready", s.nothingLost); err != nil {
		return err
	}
	s.out.conclude("The inventory is accepted again, and nothing had to be written.")
	return nil
}

func (s *show) failAll(ctx context.Context) error {
	s.begin()
	if err := s.fleet.tellAll(failChecks); err != nil {
		return err
	}
	open := func(w *world) bool { return w.mode == "FailOpen" && w.allReady(s.addresses(lastNodes)) }
	if err := s.await(ctx, "mode FailOpen, and all endpoints ready in the slice", open); err != nil {
		return err
	}
	if err := s.watch(ctx, "mode FailOpen, and all endpoints ready in the slice", open); err != nil {
		return err
	}
	s.table()
	s.out.next("The nodes answer 200 again.")
	s.begin()
	if err := s.fleet.tellAll(passChecks); err != nil {
		return err
	}
	healthy := func(w *world) bool { return w.mode == "Publish" && w.allReady(s.addresses(lastNodes)) }
	if err := s.await(ctx, "mode Publish, and all endpoints ready in the slice", healthy); err != nil {
		return err
	}
	if err := s.watch(ctx, "mode Publish, and all endpoints ready in the slice", healthy); err != nil {
		return err
	}
	s.out.conclude("Failing health checks alone never leave a slice without ready endpoints. As soon as checks pass, they count again.")
	return nil
}

func (s *show) shutDown(ctx context.Context) error {
	s.begin()
	if err := s.daemon.terminate(); err != nil {
		return fmt.Errorf("tell the daemon to stop: %w", err)
	}
	bound := time.NewTimer(stopTime)
	defer bound.Stop()
	select {
	case <-s.daemon.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-bound.C:
		return fmt.Errorf("waiting for: the end of the daemon: not within %s", stopTime)
	}
	took := time.Since(s.acted)
	if err := s.take(); err != nil {
		return err
	}
	if s.daemon.err != nil {
		return fmt.Errorf("expected: exit status 0; got %w", s.daemon.err)
	}
	if err := s.check("its last words, no write, and all endpoints ready", func(w *world) bool {
		return w.stopped && s.nothingLost(w)
	}); err != nil {
		return err
	}
	s.table()
	s.out.conclude(fmt.Sprintf("The daemon stopped after %s with exit status 0. The slices stay, and so does the traffic; the next start continues from them.", seconds(took)))
	return nil
}
