package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
)

// pass is the way of the data: what the documents, Services and slices say becomes a
// plan, and the plan becomes what runs. It returns when time alone calls for the next.
func (s *Server) pass(ctx context.Context, now time.Time) time.Time {
	s.beat.Came()
	defer func() {
		if s.pause = pause; now.Sub(s.ran) < retry && !s.begun() {
			s.pause = min(pause, time.Since(now)) // a start is not made slower
		}
		s.endOnce()
	}()
	s.beginOnce()
	in, ready := s.input(now)
	s.sizes = in.Nodes
	if !ready {
		s.pools.ahead(ctx, in)
		return time.Time{}
	}
	next, memory := assign.Resolve(in, s.memory)
	s.memory = memory
	s.handsOver.Store(next.HandsOver())
	s.teller.planned(in, next)
	s.pools.run(ctx, next)
	s.targets.prepare(ctx, next)
	s.groups.run(ctx, in, next)
	s.targets.run()
	s.teller.tell(next, s.sights)
	s.show(in, next)
	return next.Next
}

// await waits until a pass is due, and returns false when ctx has ended.
func (s *Server) await(ctx context.Context, next time.Time) bool {
	if s.once != nil {
		s.pause, next = oncePause, time.Now()
	}
	least := time.NewTimer(s.pause)
	defer least.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-least.C:
	}
	latest := time.Now().Add(seldom)
	if !next.IsZero() && next.Before(latest) {
		latest = next
	}
	for {
		s.beat.Came()
		timer := time.NewTimer(max(0, min(retry, time.Until(latest))))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case now := <-timer.C:
			if now.Before(latest) && s.quiet() {
				continue
			}
		case <-s.news:
		case <-s.opts.Hub.Changed():
		case <-s.opts.Documents.Changed():
		}
		timer.Stop()
		return true
	}
}

// begun reports whether everything that is checked began to be.
func (s *Server) begun() bool {
	last := s.shown.Load()
	return last != nil && !slices.Contains(last.groups, nil)
}

// quiet reports whether everything runs as the last plan says and none of it is to change,
// so that nothing has to be tried again.
func (s *Server) quiet() bool {
	last := s.shown.Load()
	if last == nil || len(s.teller.troubles()) > 0 || !maps.Equal(s.sizes, s.pools.nodes()) {
		return false
	}
	for i, f := range last.targets {
		changes := func(u assign.PoolUse) bool { return u.State != assign.Active || u.Next != nil }
		if f == nil || f.target == nil || slices.ContainsFunc(last.plan.Targets[i].Uses, changes) {
			return false
		}
	}
	return !slices.ContainsFunc(last.groups, func(g *group) bool { return g == nil || g.failed.Load() })
}
