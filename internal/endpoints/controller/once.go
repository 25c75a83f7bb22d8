package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

const (
	// Tries is how often a single run writes a slice that changes before each write, or after
	// it, or whose writes get no answer.
	Tries = 3
	// oncePause is the time between two passes of a single run.
	oncePause = 20 * time.Millisecond
)

// once is a single run: what runs is the same, until all has settled. Every pool is read once.
// No slice is written before every group has had the checks that it needs, and none for a pool
// that cannot be read.
type once struct {
	tell Progress
	over context.CancelFunc
	// checked says that every group had settled, so that verdicts reach the Services. quiet
	// says that nothing was under way when the pass began.
	checked, quiet bool
	// ending is what it came to, nil before all has settled.
	ending *Assessment

	mu    sync.Mutex
	fills map[string]*onceFill
}

// onceFill is what a single run remembers of the slices of one pool in one Service.
type onceFill struct {
	// before is what they were at first, nil where they were not read.
	before  *publish.State
	results []writer.Result
	// planned are the writes of the last plan, and decided says that there was one.
	planned []publish.Write
	decided bool
	// recorder is what is written in a dry run, nil in another.
	recorder *recorder
}

// Progress is told what a single run is doing: done of all are finished. It must not block.
type Progress func(what string, done, all int)

// Once runs until every pool was read or has failed, every group was checked, and all that
// differs was written or refused. In a dry run it ends where that would be written.
func (s *Server) Once(ctx context.Context, progress Progress) (Assessment, error) {
	inner, over := context.WithCancel(ctx)
	defer over()
	s.once = &once{tell: progress, over: over, fills: make(map[string]*onceFill)}
	s.searched.Store(true) // a single run is about what its documents name
	set := s.opts.Documents.Set()
	if _, known := s.labels.of(assign.InputOf(set).Pools); !known {
		s.labels.read(ctx)
	}
	_ = s.Run(inner) // it only ends with its context
	if s.once.ending != nil {
		return *s.once.ending, nil
	}
	a := s.assessment()
	switch {
	case a.At.IsZero() && a.Snapshot.Unread != nil:
		return a, &StoreError{a.Snapshot.Unread}
	case a.At.IsZero():
		return a, &StoreError{ctx.Err()}
	case s.once.checked && s.written(s.shown.Load()):
		return a, nil // an end that comes now stops nothing
	}
	return a, ctx.Err()
}

// beginOnce notes how far a single run is before a pass.
func (s *Server) beginOnce() {
	o, now := s.once, s.shown.Load()
	if o == nil || now == nil {
		return
	}
	o.quiet = false
	if done := s.settledGroups(now); done < len(now.keys) {
		o.tell("checking the endpoints", done, len(now.keys))
		return
	}
	o.checked = true
	for key, g := range s.groups.running {
		g.release(s, key)
	}
	o.quiet = s.set.Idle() // after that: what they lead to is part of this plan, or there is another one
}

// endOnce ends a single run where all has settled, or nothing can be known.
func (s *Server) endOnce() {
	o, now := s.once, s.shown.Load()
	switch {
	case o == nil:
	case now == nil:
		if s.opts.Documents.Set().Variables && s.unread() != nil {
			o.over()
		}
	case o.checked && s.settledGroups(now) == len(now.keys) && s.written(now) && o.quiet && s.set.Idle():
		a := s.assessment()
		o.ending = &a
		o.over()
	}
}

// settledGroups is how many groups need no further check, or cannot be checked.
func (s *Server) settledGroups(now *snapshot) int {
	settled, said := 0, s.teller.troubles()
	for i, key := range now.keys {
		g := now.groups[i]
		switch {
		case said[subject{kind: "pool", name: key.Pool}] != "", said[subject{kind: "group", name: name(key)}] != "":
			settled++
		case g == nil:
			if s.targets.unreadable(now.plan, key) {
				settled++
			}
		case g.now().Settled:
			settled++
		}
	}
	return settled
}

// unreadable reports whether no target of a group can be read.
func (t *targets) unreadable(p assign.Plan, g assign.Group) bool {
	return !slices.ContainsFunc(p.Targets, func(each assign.Assignment) bool {
		uses := slices.ContainsFunc(each.Uses, func(u assign.PoolUse) bool { return u.Group == g || u.Next != nil && u.Next.Group == g })
		return uses && t.unwritable(each.Key) == nil
	})
}

// written reports whether every Service was written, as far as it can be.
func (s *Server) written(now *snapshot) bool {
	done := 0
	for i := range now.plan.Targets {
		if s.writtenTarget(&now.plan.Targets[i], now.targets[i]) {
			done++
		}
	}
	s.once.tell("writing the slices", done, len(now.targets))
	return done == len(now.targets)
}

func (s *Server) writtenTarget(t *assign.Assignment, f *filler) bool {
	switch {
	case s.targets.broken[t.Key] != nil:
		return true
	case f == nil, !f.known() || f.target == nil:
		return f != nil && f.unreadable() != nil
	}
	for i := range f.fills {
		seen := f.seen[i].Load()
		switch {
		case seen == nil, !s.once.decided(f.fills[i].of):
			if g := s.groups.running[t.Uses[i].Group]; g != nil && g.free.Load() || t.Uses[i].State == assign.Emptied {
				return false
			}
		case seen.Pending > 0 && seen.LoadErr == nil && seen.Defect == nil && !s.once.gaveUp(f.fills[i].of):
			return false
		}
	}
	return true
}

// lock returns what is remembered of the slices of a target, and holds the lock.
func (o *once) lock(t publish.Target) *onceFill {
	o.mu.Lock()
	key := t.Namespace + "/" + t.SliceName
	if o.fills[key] == nil {
		o.fills[key] = &onceFill{}
	}
	return o.fills[key]
}

// decided reports whether slices were planned.
func (o *once) decided(of publish.Target) bool {
	own := o.lock(of)
	defer o.mu.Unlock()
	return own.decided
}

// gaveUp reports whether a slice was written often enough that still differs: once where the
// server refuses it.
func (o *once) gaveUp(of publish.Target) bool {
	own := o.lock(of)
	defer o.mu.Unlock()
	sent := make(map[string]int)
	for _, r := range own.results {
		sent[r.Write.Slice.Name]++
		refused := r.Err != nil && writer.Answered(r.Err) && !errors.Is(r.Err, publish.ErrConflict)
		if refused || sent[r.Write.Slice.Name] >= Tries {
			return true
		}
	}
	return false
}

// read notes what slices were when they were read first.
func (o *once) read(of publish.Target, state *publish.State) {
	if o == nil {
		return
	}
	own := o.lock(of)
	defer o.mu.Unlock()
	if own.before == nil {
		own.before = state
	}
}

// take takes in what an event of a Service came to. In a dry run nothing was written.
func (o *once) take(f *filler, out *writer.Outcome) {
	i := f.at(out.SliceName)
	if o == nil || i < 0 {
		return
	}
	own := o.lock(f.fills[i].of)
	defer o.mu.Unlock()
	if own.results = append(own.results, out.Results...); out.Passed {
		own.planned, own.decided = out.Writes, true
	}
	if f.dryRun {
		out.Results = nil
	}
}

// record makes a store of a dry run remember what would be written.
func (o *once) record(f *fill) {
	if o == nil {
		return
	}
	own := o.lock(f.of)
	defer o.mu.Unlock()
	if own.recorder == nil {
		own.recorder = &recorder{}
	}
	own.recorder.Store, f.store = f.store, own.recorder
}

// recorder is a store of a dry run: it shows what was written as if the store had it.
type recorder struct {
	Store

	mu      sync.Mutex
	written []writer.Result
}

// Load implements writer.Store.
func (r *recorder) Load(ctx context.Context) (publish.State, error) {
	state, err := r.Store.Load(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.written {
		state.Slices = writer.Landed(state.Slices, w)
	}
	return state, err
}

// Write implements writer.Store.
func (r *recorder) Write(_ context.Context, w publish.Write) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	version := fmt.Sprintf("dry run %d", len(r.written))
	r.written = append(r.written, writer.Result{Write: w, Version: version})
	return version, nil
}
