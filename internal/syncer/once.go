package syncer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/outbox"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
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
	r := s.pool.Read(ctx)
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
	status.Verdict, status.Health, err = s.probeAndDecide(ctx, plan.Published(state), read)
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

// probeAndDecide checks members and candidates until all pass, at most the larger
// of Rise and Fall rounds with a pause between them. The inventory is decided on
// after the first round, as in Run.
func (s *Syncer) probeAndDecide(ctx context.Context, members []inventory.Member, read guard.Read) (guard.Verdict, inventory.Health, error) {
	var health inventory.Health
	ineligible := pool.Ineligible(members, s.opts.Rules)
	var targets []netip.Addr
	for _, m := range members {
		if !ineligible[m.Address] {
			targets = append(targets, m.Address)
		}
	}
	for _, c := range read.Candidates {
		targets = append(targets, c.Address)
	}
	in := guard.Input{Read: &read, Memory: guard.Recover(members, time.Now()).Forbid(ineligible)}
	for round := 1; ; round++ {
		health = probe.Advance(health, s.probeAll(ctx, targets))
		in.Now, in.Health = time.Now(), health
		verdict := guard.Decide(in, s.opts.Policy)
		in.Read, in.Memory = nil, verdict.Memory
		if s.opts.Policy.HealthOff || round >= max(s.opts.Policy.Rise, s.opts.Policy.Fall) || allPass(health) {
			return verdict, health, ctx.Err()
		}
		pause := time.NewTimer(s.pool.FastInterval())
		select {
		case <-ctx.Done():
			pause.Stop()
			return verdict, health, ctx.Err()
		case <-pause.C:
		}
	}
}

// allPass reports whether every address passes, so that no further round is needed.
func allPass(health inventory.Health) bool {
	for _, streak := range health.All() {
		if streak.Passes == 0 {
			return false
		}
	}
	return true
}

// probeAll probes the addresses once each, Concurrency at a time.
func (s *Syncer) probeAll(ctx context.Context, addrs []netip.Addr) []inventory.Result {
	if s.opts.Policy.HealthOff {
		return nil
	}
	seen := make(map[netip.Addr]bool, len(addrs))
	slots := make(chan struct{}, s.opts.Concurrency)
	var mu sync.Mutex
	var results []inventory.Result
	var checks sync.WaitGroup
	for _, addr := range addrs {
		if seen[addr] {
			continue
		}
		seen[addr] = true
		slots <- struct{}{}
		checks.Go(func() {
			defer func() { <-slots }()
			result := s.opts.Prober.Check(ctx, addr)
			mu.Lock()
			defer mu.Unlock()
			results = append(results, result)
		})
	}
	checks.Wait()
	return results
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
		results := s.writeAll(ctx, a.Writes)
		a.Results = slices.Concat(before, results)
		s.board.wrote(results, a.Status.State)
		err = errorsOf(results)
		if err == nil && len(results) < len(a.Writes) {
			err = fmt.Errorf("%d of %d writes were not tried: %w", len(a.Writes)-len(results), len(a.Writes), context.Cause(ctx))
		}
		switch {
		case err == nil:
			return a, nil
		case outbox.Answered(err) && !errors.Is(err, plan.ErrConflict) || try == Tries || ctx.Err() != nil:
			return a, &StoreError{err}
		}
		before = a.Results
	}
}

// writeAll carries the writes out in order. A write whose predecessor failed is
// left out, and so are all after a conflict, because the state has changed. When
// ctx ends, the write under way is still finished.
func (s *Syncer) writeAll(ctx context.Context, writes []plan.Write) []outbox.Result {
	var results []outbox.Result
	var failed []string
	for _, w := range writes {
		if ctx.Err() != nil {
			break
		}
		if slices.ContainsFunc(w.After, func(name string) bool { return slices.Contains(failed, name) }) {
			failed = append(failed, w.Slice.Name)
			continue
		}
		r := target.Write(ctx, s.opts.Store, w)
		results = append(results, r)
		if errors.Is(r.Err, plan.ErrConflict) {
			break
		}
		if r.Err != nil {
			failed = append(failed, w.Slice.Name)
		}
	}
	return results
}

// errorsOf joins the errors of writes.
func errorsOf(results []outbox.Result) error {
	var all []error
	for _, r := range results {
		all = append(all, r.Err)
	}
	return errors.Join(all...)
}
