package syncer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
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
}

// Assess loads the slices, reads the source once, probes every address until its
// state is settled, and decides. It writes nothing.
func (s *Syncer) Assess(ctx context.Context) (Assessment, error) {
	state, err := s.opts.load(ctx)
	if err != nil {
		return Assessment{}, &StoreError{err}
	}
	r := s.opts.read(ctx, true)
	if r.err != nil {
		return Assessment{}, &SourceError{r.err}
	}
	candidates, decisions := filter.Apply(r.nodes, s.opts.Rules)
	status := &Status{
		At: r.at, ModeSince: r.at, State: state,
		Source: SourceStatus{LastAttempt: r.at, LastSuccess: r.at, Nodes: len(r.nodes), Decisions: decisions},
	}
	read := guard.Read{Nodes: len(r.nodes), Candidates: candidates, Decisions: decisions, Scheduled: true}
	status.Verdict, status.Health, err = s.settle(ctx, published(state), read)
	if err != nil {
		return Assessment{}, err
	}
	status.Findings = findings(nil, decisions, status.Verdict, r.at, r.at)
	a := Assessment{Status: status, Current: state.Slices}
	a.Desired, status.Problem = plan.Desired(status.Verdict.Members, state, s.opts.Target)
	a.Writes = plan.Diff(state.Slices, a.Desired)
	status.Store.Pending = len(a.Writes)
	s.status.Store(status)
	return a, nil
}

// settle probes members and candidates as often as their states take to settle:
// at most the larger of Rise and Fall rounds, with a pause between them. The read
// is decided on after the first round, as in Run.
func (s *Syncer) settle(ctx context.Context, members []inventory.Member, read guard.Read) (guard.Verdict, inventory.Health, error) {
	health := inventory.Health{}
	excluded := barred(members, s.opts.Rules)
	var targets []netip.Addr
	for _, m := range members {
		if !excluded[m.Address] {
			targets = append(targets, m.Address)
		}
	}
	for _, c := range read.Candidates {
		targets = append(targets, c.Address)
	}
	in := guard.Input{Read: &read, Memory: guard.Recover(members, time.Now())}
	for round := 1; ; round++ {
		health = probe.Advance(health, s.probeAll(ctx, targets))
		in.Now, in.Health = time.Now(), health
		verdict := guard.Decide(in, s.opts.Policy)
		in.Read, in.Memory = nil, verdict.Memory
		if s.opts.Policy.HealthOff || round >= max(s.opts.Policy.Rise, s.opts.Policy.Fall) || settled(health) {
			return verdict, health, ctx.Err()
		}
		pause := time.NewTimer(s.opts.fastInterval())
		select {
		case <-ctx.Done():
			pause.Stop()
			return verdict, health, ctx.Err()
		case <-pause.C:
		}
	}
}

// settled reports whether every address passed, so that no further round can
// change anything that matters at once.
func settled(health inventory.Health) bool {
	for _, streak := range health {
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

// conflictRetries is how often Once decides again after a conflict.
const conflictRetries = 3

// Once assesses and writes what differs, all of it or as far as it gets. A
// conflict is decided again.
func (s *Syncer) Once(ctx context.Context) (Assessment, error) {
	for try := 1; ; try++ {
		a, err := s.Assess(ctx)
		if err != nil || s.opts.DryRun {
			return a, err
		}
		now := time.Now()
		for i := range a.Writes {
			a.Writes[i].Trigger = now
		}
		results := s.opts.writeAll(ctx, a.Writes)
		narrator := newNarrator(ctx, s.opts, a.Status.State.Service)
		narrator.written(results, applied(a.Status.State, results))
		err = errorsOf(results)
		if err == nil && len(results) < len(a.Writes) {
			err = fmt.Errorf("%d of %d writes were not tried: %w", len(a.Writes)-len(results), len(a.Writes), context.Cause(ctx))
		}
		if !errors.Is(err, plan.ErrConflict) || try == conflictRetries {
			if err != nil {
				return a, &StoreError{err}
			}
			return a, nil
		}
	}
}

// errorsOf joins the errors of writes.
func errorsOf(results []WriteResult) error {
	var all []error
	for _, r := range results {
		all = append(all, r.Err)
	}
	return errors.Join(all...)
}
