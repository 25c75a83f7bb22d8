package controllertest

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// board keeps the status of pool and target.
type board struct {
	status atomic.Pointer[Status]

	mu sync.Mutex
	// next is the status that grows; what is published is a copy.
	next Status
}

// newBoard shows a status that says nothing yet.
func newBoard() *board {
	b := &board{}
	b.status.Store(&Status{})
	return b
}

// shown returns the newest status. Its findings are put together when it is asked
// for, not with each decision.
func (b *board) shown() *Status {
	s := b.status.Load()
	if s.findings == nil {
		return s
	}
	whole := *s
	whole.Findings = s.findings()
	return &whole
}

// pooled takes in what an event of the pool came to, with what was told of the pool.
func (b *board) pooled(o pool.Outcome, memory explain.Pool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.next
	s.Verdict, s.Health, s.Source = *o.Verdict, o.Health, o.Source
	s.ModeSince, s.findings = memory.ModeSince, sync.OnceValue(memory.Findings)
	s.Counts.Overruns = o.Overruns
	if o.Decided && !o.Beat {
		s.At = o.At
	}
	b.publish()
}

// targeted takes in what an event of the target came to.
func (b *board) targeted(o writer.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.next
	if o.Defect != nil {
		s.Counts.Defects++
		b.publish()
		return
	}
	s.State, s.Problem = o.State, o.Problem
	s.Store.LoadErr, s.Store.WriteErr, s.Store.Pending = o.LoadErr, o.WriteErr, o.Pending
	if slices.ContainsFunc(o.Results, func(r writer.Result) bool { return r.Err == nil }) {
		s.Store.LastWrite = o.At
	}
	if o.Passed && o.Problem.Kind == "" {
		s.Counts.Planned++
	}
	if !s.At.IsZero() {
		s.At = o.At
	}
	b.publish()
}

// publish shows the status.
func (b *board) publish() {
	status := b.next
	b.status.Store(&status)
}
