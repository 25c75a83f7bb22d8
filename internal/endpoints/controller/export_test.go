package controller

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// ReadyIn is what the tests of this package look at.
var ReadyIn = readyIn

// NewSource returns the source of a pool, and what runs beside it.
var NewSource = newSource

// Run is what has to run beside a source.
var Run = (*source).run

// Settlement tells when the slices of all Services are as decided.
type Settlement struct{ s *settlement }

// NewSettlement returns one that waits for nothing.
func NewSettlement(log *slog.Logger) Settlement { return Settlement{newSettlement(log)} }

// Expect waits for a Service that has slices of those names.
func (s Settlement) Expect(key assign.Key, names ...string) {
	var fills []fill
	for _, name := range names {
		fills = append(fills, fill{of: publish.Target{SliceName: name}})
	}
	s.s.expect(key, fills, make([]writer.Phase, len(fills)))
}

// Forget waits for a Service no longer, Take takes in an outcome.
func (s Settlement) Forget(key assign.Key) { s.s.forget(key) }

// Take takes in an outcome.
func (s Settlement) Take(key assign.Key, dryRun bool, o writer.Outcome) { s.s.take(key, dryRun, o) }

// NewAudience returns where the notices of pools of documents are announced.
func NewAudience(announce func(assign.Key, explain.Notice)) *audience {
	return newAudience(announce, false)
}

// Planned and Tell are its methods.
func (a *audience) Planned(plan assign.Plan, uids map[assign.Key]string) { a.planned(plan, uids) }

func (a *audience) Tell(key assign.Group, notices []explain.Notice, now time.Time) {
	a.tell(key, notices, now)
}

// Seen is what is shown of a Service after those outcomes.
func Seen(outcomes []writer.Outcome, story explain.Story) *FillState {
	f := &filler{fills: []fill{{of: publish.Target{SliceName: "blue"}}}, seen: make([]atomic.Pointer[FillState], 1)}
	for _, o := range outcomes {
		f.see(o, story, mostWrites)
	}
	return f.look()[0].State
}

// SeenOfGroup is what is shown of a group after an outcome.
func SeenOfGroup(o pool.Outcome, story explain.Story) *GroupState {
	var g group
	g.see(o, explain.Pool{}, explain.Story{})
	g.see(o, explain.Pool{}, story)
	return g.seen.Load()
}

// Sharing returns what makes slices share their lists, and how many of these it remembers.
func Sharing() (share func([]publish.Slice), seen func() int) {
	l := new(lists)
	return l.share, func() int { return len(l.seen) }
}

// PublishesAfterItsEnd reports whether a group that ended publishes a verdict that comes then.
func PublishesAfterItsEnd() bool {
	g := &group{stop: func() {}}
	g.end()
	g.publish(&Server{news: make(chan struct{}, 1)}, assign.Group{}, &guard.Verdict{})
	return g.verdict.Load() != nil
}

// Remembered is how many things the server keeps for what may be gone.
func (s *Server) Remembered() int {
	s.lost.mu.Lock()
	defer s.lost.mu.Unlock()
	s.teller.mu.Lock()
	defer s.teller.mu.Unlock()
	s.targets.lists.mu.Lock()
	defer s.targets.lists.mu.Unlock()
	return len(s.targets.lists.seen) + len(s.lost.asked) + len(s.teller.said) + len(s.targets.broken) + len(s.targets.running) + len(s.targets.leaving) + len(s.groups.running) + len(s.targets.settling.services)
}

// Undecided is why nothing was decided on a group.
func (a *Assessment) Undecided(key assign.Group) error { return a.undecided(key) }

// Unplaced is why nothing is known of a remote Service while its source is not made yet, and where
// the source cannot follow it.
func Unplaced(of pool.Source) (unmade, noWay error) {
	p := newPlacer(&source{}, inventory.RemoteService{})
	_, unmade = p.Placement()
	p.source.made.Source = of
	_, noWay = p.Placement()
	return unmade, noWay
}
