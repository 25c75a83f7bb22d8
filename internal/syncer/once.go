package syncer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/outbox"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/target"
)

// SourceError says that the source could not be read.
type SourceError struct{ Err error }

func (e *SourceError) Error() string { return "read source: " + e.Err.Error() }

// Unwrap returns the source's own error.
func (e *SourceError) Unwrap() error { return e.Err }

// StoreError says that the slices could not be loaded or written.
type StoreError struct{ Err error }

func (e *StoreError) Error() string { return "store: " + e.Err.Error() }

// Unwrap returns the store's own error.
func (e *StoreError) Unwrap() error { return e.Err }

// Assessment is what one look at the world comes to.
type Assessment struct {
	Status *Status
	// Current are the slices as they are, Desired as they should be.
	Current, Desired []plan.Slice
	// Writes lead from one to the other.
	Writes []plan.Write
	// Results are what came of the writes that Once has sent, also of those that
	// it decided again after a conflict.
	Results []outbox.Result
}

// Landed is how many writes succeeded.
func (a Assessment) Landed() int {
	landed := 0
	for _, r := range a.Results {
		if r.Err == nil {
			landed++
		}
	}
	return landed
}

// Assess loads the slices, reads the source once, checks every address as often as
// a decision takes, and decides. It writes nothing.
func (s *Syncer) Assess(ctx context.Context) (Assessment, error) {
	state, err := target.Load(ctx, s.opts.Store)
	if err != nil {
		return Assessment{}, &StoreError{err}
	}
	reader, err := s.reader()
	if err != nil {
		return Assessment{}, err
	}
	r := reader.Read(ctx)
	if r.Err != nil {
		return Assessment{}, &SourceError{r.Err}
	}
	filtered := filter.Apply(r.Nodes, s.opts.Rules)
	decisions := narration.ByName(filtered.Decisions)
	status := &Status{
		At: r.At, ModeSince: r.At, State: state,
		Source: SourceStatus{LastAttempt: r.At, LastSuccess: r.At, Nodes: len(r.Nodes), Decisions: decisions},
	}
	read := guard.Read{
		Nodes: len(r.Nodes), Candidates: filtered.Candidates, Decisions: filtered.Decisions, Ineligible: filtered.Ineligible,
		Scheduled: true,
	}
	look := pool.Look{Prober: s.opts.Prober, Policy: s.opts.Policy, Rules: s.opts.Rules, Slots: make(chan struct{}, max(1, s.opts.Concurrency))}
	status.Verdict, status.Health, err = look.Decide(ctx, plan.Published(state), read)
	if err != nil {
		return Assessment{}, err
	}
	status.Findings = narration.Findings(nil, decisions, status.Verdict, r.At, r.At)
	a := Assessment{Status: status, Current: state.Slices}
	a.Desired, status.Problem = plan.Desired(status.Verdict.Members, state, s.opts.Target)
	a.Writes = plan.Diff(state.Slices, a.Desired)
	status.Store.Pending = len(a.Writes)
	s.board.status.Store(status)
	return a, nil
}

// Tries is how often Once decides when a slice changes before it is written, or the
// answer to a write is lost.
const Tries = 3

// Once assesses and writes what differs, all of it or as far as it gets. After a
// conflict, or a write without an answer, it reads and decides again.
func (s *Syncer) Once(ctx context.Context) (Assessment, error) {
	var before []outbox.Result
	for try := 1; ; try++ {
		a, err := s.Assess(ctx)
		a.Results = before
		if err != nil || s.opts.DryRun {
			return a, err
		}
		now := time.Now()
		for i := range a.Writes {
			a.Writes[i].Trigger = now
		}
		results, err := target.WriteAll(ctx, s.opts.Store, a.Writes)
		a.Results = slices.Concat(before, results)
		s.board.wrote(results, a.Status.State)
		switch {
		case err == nil:
			return a, nil
		case outbox.Answered(err) && !errors.Is(err, plan.ErrConflict) || try == Tries || ctx.Err() != nil:
			return a, &StoreError{err}
		}
		before = a.Results
	}
}
