package syncer

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/outbox"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/setting"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/target"
)

// board keeps the status of pool and target, and logs and announces what the
// narration says of each outcome.
type board struct {
	log      *slog.Logger
	names    setting.Names
	announce func(narration.Notice)
	status   atomic.Pointer[Status]

	// pool and target are the narrations of each; only its own loop touches it.
	pool   narration.Pool
	target narration.Target

	mu sync.Mutex
	// next is the status that grows; what is published is a copy.
	next Status
}

// newBoard shows a status that says nothing yet.
func newBoard(o Options) *board {
	b := &board{log: o.Logger, names: o.Target.Names, announce: func(narration.Notice) {}}
	if o.Announcer != nil && !o.DryRun {
		b.announce = o.Announcer.Announce
	}
	b.target.DryRun = o.DryRun
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

// started notes what everything starts from.
func (b *board) started(ctx context.Context, state plan.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pool.Thorough = b.log.Enabled(ctx, slog.LevelDebug)
	b.next.State = state
}

// pooled takes in what an event of the pool came to.
func (b *board) pooled(o pool.Outcome) {
	var story narration.Story
	b.pool, story = b.pool.Tell(o)
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.next
	s.Verdict, s.Health, s.Source = *o.Verdict, o.Health, o.Source
	s.ModeSince, s.findings = b.pool.ModeSince, sync.OnceValue(b.pool.Findings)
	s.Counts.Held = o.Held
	s.Counts.Overruns, s.Counts.Moves, s.Counts.Accepted = o.Overruns, b.pool.Moves, b.pool.Accepted
	if o.Decided && !o.Beat {
		s.At = o.At
	}
	b.publish(story)
}

// targeted takes in what an event of the target came to.
func (b *board) targeted(o target.Outcome) {
	var story narration.Story
	b.target, story = b.target.Tell(o)
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.next
	if o.Defect != nil {
		s.Counts.Defects++
		b.publish(story)
		return
	}
	s.State, s.Problem = o.State, o.Problem
	s.Store.LoadErr, s.Store.WriteErr, s.Store.Pending = o.LoadErr, o.WriteErr, o.Pending
	if landed(o.Results) {
		s.Store.LastWrite = o.At
	}
	switch {
	case !o.Passed:
	case o.Problem.Kind != "":
		s.Counts.Blocked++
	case len(o.Writes) > 0:
		s.Counts.Changed++
	default:
		s.Counts.Unchanged++
	}
	if !s.At.IsZero() {
		s.At = o.At
	}
	b.publish(story)
}

// landed reports whether a write succeeded.
func landed(results []outbox.Result) bool {
	for _, r := range results {
		if r.Err == nil {
			return true
		}
	}
	return false
}

// wrote tells what came of writes outside of the loops.
func (b *board) wrote(results []outbox.Result, state plan.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next.State = state
	for _, r := range results {
		if r.Err == nil {
			state.Slices = outbox.Landed(state.Slices, r)
		}
	}
	b.tell(narration.Written(results, state))
}

// publish shows the status and tells the story.
func (b *board) publish(story narration.Story) {
	if story.Cycle != nil {
		b.next.Cycles = narration.Prepend(b.next.Cycles, *story.Cycle)
	}
	status := b.next
	b.status.Store(&status)
	b.tell(story)
}

// tell logs and announces a story, with settings as the target's readers spell
// them.
func (b *board) tell(story narration.Story) {
	for _, line := range story.Lines {
		b.say(line.Level)(b.names.Of(line.Message), b.spelled(line.Args)...)
	}
	for _, notice := range story.Notices {
		notice.Service, notice.Note = b.next.State.Service.UID, b.names.Of(notice.Note)
		b.announce(notice)
	}
}

// spelled spells settings in the values of a log line.
func (b *board) spelled(args []any) []any {
	if b.names.Spelling == setting.Variables {
		return args
	}
	spelled := slices.Clone(args)
	for i, arg := range args {
		switch value := arg.(type) {
		case string:
			spelled[i] = b.names.Of(value)
		case error:
			spelled[i] = b.names.Of(value.Error())
		}
	}
	return spelled
}

// say returns what logs at a level.
func (b *board) say(level narration.Level) func(string, ...any) {
	switch level {
	case narration.Debug:
		return b.log.Debug
	case narration.Warn:
		return b.log.Warn
	case narration.Error:
		return b.log.Error
	case narration.Info:
	}
	return b.log.Info
}
