package syncer

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/outbox"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
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

	// said are the reasons of what was told of the newest plan; only the loop of plans touches it.
	said map[string]bool

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

// planned tells what a plan says of the slices: after a restart with other ports or another
// check they hold what is to be replaced.
func (b *board) planned(p *resolve.Plan) {
	var told narration.Story
	said := map[string]bool{}
	for _, n := range p.Notices {
		said[n.Reason] = true
		if !b.said[n.Reason] {
			told.Lines = append(told.Lines, narration.Line{Level: narration.Warn, Message: n.Message})
			told.Notices = append(told.Notices, narration.Notice{Reason: narration.NoticeReason(n.Reason), Note: n.Message})
		}
	}
	b.said = said
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tell(told)
}

// pooled takes in what an event of the pool came to, with what was told of the pool.
func (b *board) pooled(o pool.Outcome, memory narration.Pool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.next
	s.Verdict, s.Health, s.Source = *o.Verdict, o.Health, o.Source
	s.ModeSince, s.findings = memory.ModeSince, sync.OnceValue(memory.Findings)
	s.Counts.Held = o.Held
	s.Counts.Overruns, s.Counts.Moves, s.Counts.Accepted = o.Overruns, memory.Moves, memory.Accepted
	if o.Decided && !o.Beat {
		s.At = o.At
	}
	b.publish()
}

// targeted takes in what an event of the target came to.
func (b *board) targeted(o target.Outcome) {
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
	b.publish()
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

// publish shows the status.
func (b *board) publish() {
	status := b.next
	b.status.Store(&status)
}

// told tells the story of what was taken in last.
func (b *board) told(story narration.Story) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if story.Cycle != nil {
		b.next.Cycles = narration.Prepend(b.next.Cycles, *story.Cycle)
		b.publish()
	}
	b.tell(story)
}

// tell logs and announces a story, with settings as the target's readers spell
// them.
func (b *board) tell(story narration.Story) {
	for _, line := range story.Lines {
		b.say(line.Level)(b.names.Of(line.Message), b.spelled(line.Args)...)
	}
	for _, notice := range story.Notices {
		notice.Service, notice.Note = cmp.Or(notice.Service, b.next.State.Service.UID), b.names.Of(notice.Note)
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
