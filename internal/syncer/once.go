package syncer

import (
	"context"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
)

// Assessment is what one look at the world comes to, for one Service and one pool.
type Assessment struct {
	Status *Status
	serve.AssessedFill
}

// Of returns what one pool gives a Service as if it were the only one.
func Of(all *serve.Assessment, f *serve.AssessedFill) Assessment {
	status := &Status{At: all.At, ModeSince: all.At, State: f.State, Problem: f.Problem}
	status.Store.LoadErr, status.Store.Pending = f.StoreErr, len(f.Writes)
	if read := all.Pools[f.Use.Pool]; read != nil {
		status.Source = read.Sourced()
	}
	if g := all.Groups[f.Use.Group]; g != nil && g.Verdict != nil && f.Use.State != resolve.Emptied {
		status.Verdict, status.Health, status.Findings = *g.Verdict, g.Health, g.Findings()
	}
	return Assessment{Status: status, AssessedFill: *f}
}

// Assess loads the slices, reads the source once, checks every address as often as
// a decision takes, and decides. It writes nothing.
func (s *Syncer) Assess(ctx context.Context) (Assessment, error) {
	return s.look(ctx, s.server.Assess)
}

// Once assesses and writes what differs, all of it or as far as it gets.
func (s *Syncer) Once(ctx context.Context) (Assessment, error) { return s.look(ctx, s.server.Once) }

func (s *Syncer) look(ctx context.Context, do func(context.Context, serve.Progress) (serve.Assessment, error)) (Assessment, error) {
	s.board.single.Store(true)
	all, err := do(ctx, func(string, int, int) {})
	if len(all.Targets) == 0 {
		return Assessment{}, err
	}
	a := Of(&all, all.Targets[0].Fills[0])
	switch {
	case a.Undecided != nil:
		return Assessment{}, a.Undecided
	case a.StoreErr != nil:
		err = &serve.StoreError{Err: a.StoreErr}
	}
	s.board.status.Store(a.Status)
	return a, err
}
