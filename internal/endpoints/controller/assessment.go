package controller

import (
	"errors"
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// Assessment is what a single run comes to.
type Assessment struct {
	Snapshot
	// Blind says which parts of the local cluster could not be read, and why.
	Blind []error
	// Assessed are the Services of the plan, in its order.
	Assessed []*AssessedTarget
}

// AssessedTarget is one Service.
type AssessedTarget struct {
	assign.Assignment
	// Fills has one for each of its Uses, in their order.
	Fills []*AssessedFill
}

// AssessedFill is what one pool gives a Service.
type AssessedFill struct {
	Use    assign.PoolUse
	Target publish.Target
	// State is what the slices were at first, Desired what they should be, and Writes lead
	// from one to the other. Problem is why the Service cannot be filled.
	State   publish.State
	Desired []publish.Slice
	Problem publish.Problem
	Writes  []publish.Write
	// Results are what came of the writes that were sent, also of those that were
	// decided again after a conflict.
	Results []writer.Result
	// Undecided is why nothing was decided; StoreErr is why the slices cannot be read, or
	// not all of them be written. Both are nil where all went well.
	Undecided, StoreErr error
}

// SourceError says that a source could not be read.
type SourceError struct{ Err error }

func (e *SourceError) Error() string { return "read source: " + e.Err.Error() }

// Unwrap returns the source's own error.
func (e *SourceError) Unwrap() error { return e.Err }

// StoreError says that slices could not be loaded or written.
type StoreError struct{ Err error }

func (e *StoreError) Error() string { return "store: " + e.Err.Error() }

// Unwrap returns the store's own error.
func (e *StoreError) Unwrap() error { return e.Err }

// Landed is how many writes succeeded.
func (f *AssessedFill) Landed() int {
	landed := 0
	for _, r := range f.Results {
		if r.Err == nil {
			landed++
		}
	}
	return landed
}

// GroupOf returns what a group decided, nil where that is nothing.
func (a *Assessment) GroupOf(key assign.Group) *Group {
	for i := range a.Groups {
		if a.Groups[i].Group == key {
			return &a.Groups[i]
		}
	}
	return nil
}

// assessment is what a single run has come to.
func (s *Server) assessment() Assessment {
	a := Assessment{Snapshot: *s.Snapshot()}
	if err := s.labels.failed(); err != nil {
		a.Blind = append(a.Blind, fmt.Errorf("the labels of namespaces cannot be read: %w", err))
	}
	for _, sight := range s.opts.Hub.Local().Sights {
		if sight.Err != nil {
			a.Blind = append(a.Blind, fmt.Errorf("namespace %s cannot be read: %w", sight.Namespace, sight.Err))
		}
	}
	for i := range a.Plan.Targets {
		t := &AssessedTarget{Assignment: a.Plan.Targets[i]}
		fills, _ := s.targets.fills(t.Assignment)
		for j, each := range fills {
			f := &AssessedFill{Use: t.Uses[j], Target: each.of}
			var seen *FillState
			if j < len(a.Targets[i].Fills) {
				seen = s.once.restore(&a.Targets[i].Fills[j])
			}
			f.StoreErr = s.targets.unwritable(t.Key)
			if s.once.assess(f, seen); f.StoreErr == nil && !s.once.decided(each.of) {
				f.Undecided = a.undecided(f.Use.Group)
			}
			t.Fills = append(t.Fills, f)
		}
		a.Assessed = append(a.Assessed, t)
	}
	return a
}

// unwritable is why the slices of a Service cannot be read, nil where that is not so.
func (t *targets) unwritable(key assign.Key) error {
	if f := t.running[key]; f != nil && t.broken[key] == nil {
		return f.unreadable()
	}
	return t.broken[key]
}

// restore makes a fill of a dry run say what its slices are, not what they would be.
func (o *once) restore(f *Fill) *FillState {
	seen, own := f.State, o.lock(f.Target)
	defer o.mu.Unlock()
	if seen != nil && own.recorder != nil && own.before != nil {
		is := *seen
		is.State, is.Pending = *own.before, len(publish.Diff(own.before.Slices, seen.State.Slices))
		f.State = &is
	}
	return seen
}

// assess says what a run came to for a fill, of which that was seen last.
func (o *once) assess(f *AssessedFill, seen *FillState) {
	own := o.lock(f.Target)
	defer o.mu.Unlock()
	if own.before != nil {
		f.State, f.Desired = *own.before, own.before.Slices
	}
	if seen == nil {
		return
	}
	f.Problem, f.Desired = seen.Problem, seen.State.Slices
	if seen.Pending > 0 {
		for _, w := range own.planned {
			f.Desired = writer.Landed(f.Desired, writer.Result{Write: w})
		}
		if f.StoreErr = errors.Join(seen.LoadErr, seen.WriteErr); f.StoreErr == nil {
			f.StoreErr = errors.New("the slices differ from the last write")
		}
	}
	if f.Writes = publish.Diff(f.State.Slices, f.Desired); own.recorder == nil {
		f.Results = own.results
	}
}

// undecided is why nothing was decided on a group.
func (a *Assessment) undecided(key assign.Group) error {
	g := a.GroupOf(key)
	for _, p := range a.Pools {
		if p.Name == key.Pool && p.Problem != "" {
			return &SourceError{errors.New(p.Problem)}
		}
	}
	switch {
	case g != nil && g.State != nil && g.State.readErr() != nil:
		return &SourceError{g.State.readErr()}
	case g != nil && g.Problem != "":
		return errors.New(g.Problem)
	}
	return errors.New("its endpoints were not checked")
}
